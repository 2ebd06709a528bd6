"""One process asks another one on its internal listener what that holds."""

import asyncio
import json
from pathlib import Path
from stat import S_ISSOCK

import pytest

from kproxy.admin.activity.own_events import Audience
from kproxy.admin.fleet.own_part import OwnPart
from kproxy.admin.fleet.peer_events import PeerEvents
from kproxy.admin.peer_views import MOST_ANSWER_BYTES, PeerAnswer, PeerSilent
from kproxy.admin.questions import question_of
from kproxy.application.peer_questions import PeerQuestions
from kproxy.fleet.owners import Peer
from kproxy.net.background import BackgroundTasks
from kproxy.net.tasks import TaskKeeper
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.inspectable import Inspectable
from tests.in_memory.inspectable_fleet import InspectableFleet, OwnersSeenBy, two_processes
from tests.unit.net.peering import OwnerUnderTest, dialler
from tests.worlds.waiting import until

GROUPS = "/api/v1/groups?lag=false&scope=local"


class OverASocket:
    """`PeerViews` of a fleet whose only other process listens at a port."""

    def __init__(self, listening: Peer) -> None:
        self._listening = listening

    async def ask(self, _peer: Peer, path: str, *, patience_ms: int) -> PeerAnswer:
        return await PeerQuestions(dialler()).ask(self._listening, path, patience_ms=patience_ms)


async def told_by(fleet: InspectableFleet, name: str, path: str) -> tuple[int, bytes]:
    answer = await OwnPart(fleet.processes[name].answers()).tell(path)
    return answer.status, answer.body


async def test_another_process_tells_what_it_holds() -> None:
    # Given
    fleet = two_processes()
    async with OwnerUnderTest("kproxy-b") as owner:
        owner.listener.views = lambda path: told_by(fleet, "kproxy-b", path)

        # When
        answer = await PeerQuestions(dialler()).ask(owner.peer, GROUPS, patience_ms=5_000)

    # Then
    assert answer.status == 200
    assert [group["groupId"] for group in json.loads(answer.body)["items"]] == [fleet.group_of("kproxy-b")]


async def test_a_process_that_asks_its_neighbour_over_a_socket_tells_of_the_whole_fleet() -> None:
    # Given
    fleet = two_processes()
    async with OwnerUnderTest("kproxy-b") as owner:
        owner.listener.views = lambda path: told_by(fleet, "kproxy-b", path)
        asked = fleet.processes["kproxy-a"]
        asked.peer_views = OverASocket(owner.peer)

        # When
        answer = await asked.answers().answer(question_of("/api/v1/sessions"))

    # Then
    told = json.loads("".join(answer.pieces))
    assert sorted(session["memberId"] for session in told["items"]) == ["alice", "bob"]
    assert "unavailable" not in told


async def test_a_process_that_says_nothing_in_time_is_silent() -> None:
    # Given
    async def say_nothing(_path: str) -> tuple[int, bytes]:
        await asyncio.Event().wait()
        return 200, b""

    async with OwnerUnderTest("kproxy-b") as owner:
        owner.listener.views = say_nothing

        # When
        with pytest.raises(PeerSilent) as silent:
            await PeerQuestions(dialler()).ask(owner.peer, GROUPS, patience_ms=50)

    # Then
    assert str(silent.value) == "kproxy-b shows nothing within 50 ms"


async def test_more_than_may_be_held_is_not_read() -> None:
    # Given
    async def say_much(_path: str) -> tuple[int, bytes]:
        return 200, bytes(MOST_ANSWER_BYTES + 1)

    async with OwnerUnderTest("kproxy-b") as owner:
        owner.listener.views = say_much

        # When
        with pytest.raises(PeerSilent) as silent:
            await PeerQuestions(dialler()).ask(owner.peer, GROUPS, patience_ms=5_000)

    # Then
    assert str(silent.value).startswith("kproxy-b shows nothing: ")
    assert "8388610 at most are read" in str(silent.value)


async def test_nobody_at_the_address_is_silent() -> None:
    # Given
    async with OwnerUnderTest("kproxy-b") as owner:
        gone = owner.peer

    # When
    with pytest.raises(PeerSilent) as silent:
        await PeerQuestions(dialler()).ask(gone, GROUPS, patience_ms=5_000)

    # Then
    assert str(silent.value).startswith("kproxy-b shows nothing: ")


async def test_events_are_asked_for_over_sockets_of_which_none_is_left_when_nobody_listens_any_more() -> None:
    # Given
    told, listens, tasks, inspectable = list[bytes](), [True], TaskKeeper(), Inspectable()
    part = OwnPart(inspectable.answers(), events=inspectable.own_events())
    hangs = asyncio.Event()

    async def tell_or_hang(path: str) -> tuple[int, bytes]:
        if told[1:]:
            hangs.set()
            await asyncio.Event().wait()
        answer = await part.tell(path)
        return answer.status, answer.body

    async with OwnerUnderTest("kproxy-b") as owner:
        owner.listener.views = tell_or_hang
        fleet = InspectableFleet("kproxy-a", "kproxy-b")
        asked = PeerEvents(
            OwnersSeenBy(fleet, "kproxy-a"),
            OverASocket(owner.peer),
            background=BackgroundTasks(tasks),
            metrics=Metrics(),
            interval_s=0.01,
        )
        sockets_before = open_sockets()
        asked.begin(Audience(lambda: listens[0], told.append))
        await until(lambda: bool(told))
        inspectable.join("alice")
        await hangs.wait()

        # When
        sockets_while, listens[0] = open_sockets(), False
        await until(lambda: len(tasks) == 0)
        await until(lambda: open_sockets() <= sockets_before)

    # Then
    assert sockets_while > sockets_before
    assert b'"groupId": "workers", "change": "added"' in told[1]


def open_sockets() -> int:
    """How many sockets this process holds."""
    return sum(S_ISSOCK(each.stat().st_mode) for each in Path("/proc/self/fd").iterdir() if each.exists())
