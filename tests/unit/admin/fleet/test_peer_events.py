"""Who listens to one process hears the others, and of each that cannot be heard; nobody waits for that one."""

import asyncio
import json
from collections.abc import Sequence
from http import HTTPStatus

import pytest

from kproxy.admin.activity.own_events import Audience, EventsSince
from kproxy.admin.fleet.peer_events import PATIENCE_MS, PeerEvents
from kproxy.admin.peer_views import PeerAnswer, PeerSilent
from kproxy.fleet.owners import Peer
from kproxy.net.background import BackgroundTasks
from kproxy.net.tasks import TaskKeeper
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.described_answers import require_described_event
from tests.in_memory.inspectable_fleet import peer_named
from tests.worlds.waiting import until, until_all_wait

OLDER = PeerAnswer(HTTPStatus.NOT_FOUND, b"{}")
NOTHING_NEW = PeerAnswer(HTTPStatus.OK, EventsSince("j.0", False, b"").body())


class World:
    """Other processes by name, each with what it answers next; the last answer is given for ever. None: it hangs."""

    def __init__(self, **answers: Sequence[PeerAnswer | str | None]) -> None:
        self.answers = {f"kproxy-{name}": list(each) for name, each in answers.items()}
        self.named = [peer_named(name) for name in self.answers]
        self.asked: list[str] = []
        self.patience: set[int] = set()
        self.hanging = 0
        self.may_leave = asyncio.Event()
        """Until it is set, a question that hangs does not end when it is given up."""
        self.may_leave.set()
        self.told: list[bytes] = []
        self.is_listened_to = True
        self.tasks = TaskKeeper()
        self.metrics = Metrics()
        self.events = PeerEvents(
            self,  # type: ignore[arg-type]  # what else owners tell is not asked for
            self,
            background=BackgroundTasks(self.tasks),
            metrics=self.metrics,
            interval_s=0.001,
            again_s=0.001,
        )

    def listen(self) -> None:
        self.events.begin(Audience(lambda: self.is_listened_to, self.told.append))

    def peers(self) -> Sequence[Peer]:
        return self.named

    async def ask(self, peer: Peer, path: str, *, patience_ms: int) -> PeerAnswer:
        self.asked.append(f"{peer.name}{path}")
        self.patience.add(patience_ms)
        answers = self.answers[peer.name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            self.hanging += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.hanging -= 1
                await self.may_leave.wait()
        if isinstance(answer, str):
            raise PeerSilent(answer)
        assert isinstance(answer, PeerAnswer)
        return answer

    def standings(self) -> list[tuple[str, str, bool, str]]:
        """Every event about a process that was told: its name, state, whether events are lost, and why."""
        found = []
        for chunk in self.told:
            name, data = chunk.decode().split("\n")[:2]
            if name == "event: peer":
                told = json.loads(data.removeprefix("data: "))
                require_described_event("peer", told)
                found.append((told["process"], told["state"], told["missed"], told["reason"]))
        return found

    async def asked_often(self, name: str, times: int = 5) -> None:
        before = len(self.asked)
        await until(lambda: sum(each.startswith(name) for each in self.asked[before:]) >= times)


def events_told(cursor: str, number: int, *, has_missed: bool = False) -> PeerAnswer:
    chunk = f'event: records\ndata: {{"number": {number}}}\n\n'.encode()
    return PeerAnswer(HTTPStatus.OK, EventsSince(cursor, has_missed, chunk).body())


async def test_events_of_another_process_are_told_as_it_tells_them_and_asked_for_where_the_last_ended() -> (
    None
):
    # Given
    world = World(b=[events_told("j.1", 1), events_told("j.2", 2), NOTHING_NEW])

    # When
    world.listen()
    await world.asked_often("kproxy-b")

    # Then
    assert world.standings() == [("kproxy-b", "heard", False, "")]
    assert world.told[1:] == [
        b'event: records\ndata: {"number": 1}\n\n',
        b'event: records\ndata: {"number": 2}\n\n',
    ]
    assert world.asked[:3] == [
        f"kproxy-b/api/v1/events?scope=local&after={cursor}" for cursor in ("", "j.1", "j.2")
    ]
    assert world.patience == {PATIENCE_MS}
    await world.tasks.close()


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (OLDER, "older", "kproxy-b runs a version that cannot tell of events"),
        ("kproxy-b shows nothing", "silent", "kproxy-b shows nothing"),
        (PeerAnswer(500, b""), "silent", "kproxy-b answered 500"),
        (
            PeerAnswer(200, b"{}\nevent: half"),
            "silent",
            "kproxy-b told what cannot be understood: not the head of events: b'{}'",
        ),
    ],
)
async def test_a_process_that_cannot_be_heard_is_told_of_once_and_asked_again(
    answer: PeerAnswer | str, state: str, reason: str
) -> None:
    # Given
    world = World(b=[answer, answer, answer, NOTHING_NEW])

    # When
    world.listen()
    await until(lambda: len(world.standings()) > 1)
    await world.asked_often("kproxy-b")

    # Then
    assert world.standings() == [("kproxy-b", state, False, reason), ("kproxy-b", "heard", False, "")]
    assert world.metrics.counted("peer_views", "failed") == (0 if state == "older" else 3)
    await world.tasks.close()


async def test_a_process_that_hangs_holds_up_no_other_one() -> None:
    # Given
    world = World(b=[None], c=[events_told("j.1", 1), NOTHING_NEW])

    # When
    world.listen()
    await world.asked_often("kproxy-c")

    # Then
    assert world.standings() == [("kproxy-c", "heard", False, "")]
    assert (world.hanging, world.asked.count("kproxy-b/api/v1/events?scope=local&after=")) == (1, 1)
    await world.tasks.close()


async def test_events_that_are_lost_are_told_of() -> None:
    # Given
    world = World(b=[events_told("j.1", 1), events_told("k.4", 4, has_missed=True), NOTHING_NEW])

    # When
    world.listen()
    await world.asked_often("kproxy-b")

    # Then
    assert world.standings() == [
        ("kproxy-b", "heard", False, ""),
        ("kproxy-b", "heard", True, "some events of kproxy-b are lost: ask for the lists"),
    ]
    assert b'"missed": false, "reason": ""' in world.events.standings()
    await world.tasks.close()


async def test_processes_that_come_and_go_with_the_map_are_followed() -> None:
    # Given
    world = World(b=[NOTHING_NEW], c=[NOTHING_NEW])
    world.named = [peer_named("kproxy-b")]
    world.listen()
    await world.asked_often("kproxy-b")

    # When
    world.named = [peer_named("kproxy-c")]
    await world.asked_often("kproxy-c")

    # Then
    assert world.standings() == [
        ("kproxy-b", "heard", False, ""),
        ("kproxy-b", "gone", False, "kproxy-b owns no slots any more, or has begun anew"),
        ("kproxy-c", "heard", False, ""),
    ]
    assert world.events.standings().count(b"event: peer") == 1
    assert not any(each.startswith("kproxy-b") for each in world.asked[-3:])
    await world.tasks.close()


async def test_nothing_is_left_when_nobody_listens_any_more_and_who_comes_then_is_told_anew() -> None:
    # Given
    world = World(b=[NOTHING_NEW], c=[None])
    world.listen()
    await until(lambda: world.hanging == 1)

    # When
    world.is_listened_to = False
    await until(lambda: len(world.tasks) == 0)
    left, standing = [task.get_name() for task in asyncio.all_tasks()], world.events.standings()

    # Then
    assert (world.hanging, standing) == (0, b"")
    assert not any("events" in name for name in left)
    world.is_listened_to = True
    world.listen()
    await until(lambda: len(world.standings()) > 1)
    assert world.standings()[-1] == ("kproxy-b", "heard", False, "")
    await world.tasks.close()


async def test_who_comes_while_questions_are_given_up_is_told_all_the_same() -> None:
    # Given
    world = World(b=[NOTHING_NEW], c=[None])
    world.listen()
    await until(lambda: world.hanging == 1)
    world.may_leave.clear()
    world.is_listened_to = False
    await until(lambda: world.hanging == 0)
    world.told.clear()

    # When
    world.is_listened_to = True
    world.listen()
    await until(lambda: bool(world.standings()))
    world.may_leave.set()
    await world.asked_often("kproxy-b")

    # Then
    assert world.standings() == [("kproxy-b", "heard", False, "")]
    assert world.events.standings().count(b"event: peer") == 1
    await world.tasks.close()


async def test_the_end_of_the_process_ends_all_questions() -> None:
    # Given
    world = World(b=[None], c=[NOTHING_NEW])
    world.listen()
    await until(lambda: world.hanging == 1)

    # When
    world.events.end()
    await until(lambda: len(world.tasks) == 0)
    await until_all_wait()

    # Then
    assert world.hanging == 0
