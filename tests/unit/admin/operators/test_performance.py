"""Operators' requests, done to share groups at work."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from kproxy.admin.json_chunks import CHUNK_LENGTH
from kproxy.admin.peer_views import PeerAnswer
from kproxy.errors import CoordinatorLoadInProgress, StateNotWritten
from kproxy.fleet.owners import Peer
from kproxy.handlers.operator_actions import SettledRun
from kproxy.share.identifiers import MemberId
from kproxy.share.record_state import RecordState
from kproxy.statelog.actors import Cause
from tests.in_memory.inspectable_fleet import InspectableFleet
from tests.worlds.operated_groups import OperatedGroups
from tests.worlds.share_group_world import acquired

ARCHIVE = {"action": "archive", "group": "g", "topic": "orders", "partition": 0, "offsets": [[1, 2]]}
END = {"action": "end-session", "group": "g", "member": "alice"}
NOW = {"execute": True, "reason": "poison", "operator": "root"}


async def ask(operated: OperatedGroups, fields: dict[str, Any]) -> tuple[int, Any]:
    performance = operated.inspectable.performance()
    assert performance is not None
    return told(await performance.answer(json.dumps(fields).encode(), "/127.0.0.1"))


def told(answer: PeerAnswer) -> tuple[int, Any]:
    return answer.status, json.loads(answer.body)


async def test_what_would_change_is_told_and_not_done() -> None:
    # Given
    operated = await OperatedGroups().begin()

    # When
    status, answer = await ask(operated, ARCHIVE)

    # Then
    [run] = answer["items"]
    assert (status, answer["executed"]) == (200, False)
    assert (run["firstOffset"], run["lastOffset"]) == (1, 2)
    assert (run["stateBefore"], run["stateAfter"]) == ("Acquired", "Archived")
    assert (run["topicName"], run["memberId"], run["clientId"]) == ("orders", "alice", "client")
    assert not any(
        actor.cause is Cause.OPERATOR for actors in operated.world.state_log.actors for actor in actors
    )


async def test_what_is_executed_is_recorded_with_who_did_it_and_why() -> None:
    # Given
    operated = await OperatedGroups().begin()

    # When
    status, answer = await ask(operated, {**ARCHIVE, **NOW})

    # Then
    assert (status, answer["executed"]) == (200, True)
    [actor] = operated.world.state_log.actors[-1]
    assert (actor.cause, actor.reason) == (Cause.OPERATOR, "archive by root@/127.0.0.1: poison")


async def test_sessions_are_ended_and_their_records_given_to_others() -> None:
    # Given
    operated = await OperatedGroups().begin()

    # When
    status, answer = await ask(operated, {**END, **NOW})

    # Then
    [session] = answer["items"]
    assert (status, session["memberId"], session["nodeId"], session["heldCount"]) == (200, "alice", 1, 5)
    assert acquired(await operated.bob.fetch(max_wait_ms=0)) == [(0, 4, 2)]


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({**ARCHIVE, "group": "x"}, 404, "there is no share group 'x'"),
        ({**ARCHIVE, "topic": "oders"}, 404, "does not have a topic 'oders'; there is orders"),
        ({**ARCHIVE, "partition": 1}, 404, "nobody fetches from partition 1 of 'orders' for 'g' now"),
        ({**ARCHIVE, "offsets": [[4, 9]]}, 400, "offset 9 was never acquired, the last one is 4"),
        ({**ARCHIVE, "member": "bob"}, 409, "offset 1 is held by 'alice', and not by 'bob'"),
        ({**END, "member": "carol"}, 404, "there is no member 'carol'"),
        ({**END, "node": 3}, 404, "has no share session with broker 3"),
        ({**ARCHIVE, "action": "purge"}, 400, "expected release"),
    ],
)
async def test_what_cannot_be_done_is_refused_and_counted(
    fields: dict[str, Any], status: int, message: str
) -> None:
    # Given
    operated = await OperatedGroups().begin()

    # When
    found, answer = await ask(operated, {**fields, **NOW})

    # Then
    assert found == status
    assert message in answer["items"][0]["message"]
    exposed = operated.inspectable.metrics.exposition("").body.decode()
    assert 'result="refused"} 1.0' in exposed


async def test_what_is_in_another_state_is_a_conflict() -> None:
    # Given
    operated = await OperatedGroups().begin()
    await ask(operated, {**ARCHIVE, **NOW})

    # When
    status, answer = await ask(operated, {**ARCHIVE, **NOW})

    # Then
    assert (status, answer["items"][0]["message"]) == (
        409,
        "offset 1 is Archived, which archive leaves as it is",
    )


async def test_a_write_that_failed_is_told_as_unavailable() -> None:
    # Given
    operated = await OperatedGroups().begin()
    operated.world.state_log.persist_failure = StateNotWritten("the log refused it")

    # When
    status, answer = await ask(operated, {**ARCHIVE, **NOW})

    # Then
    assert (status, answer["items"][0]["message"]) == (
        503,
        "nothing was changed: the log refused it",
    )


async def test_the_process_that_serves_the_group_does_it() -> None:
    # Given
    fleet = InspectableFleet("kproxy-a", "kproxy-b")
    operated = await OperatedGroups().begin()
    owner = fleet.owners[fleet.slot_of("g")]
    asked = next(name for name in fleet.owners if name != owner)
    for name in fleet.owners:
        process = fleet.processes[name]
        process.operators = operated.inspectable.operators
    serving = fleet.processes[owner]
    serving.sessions, serving.live = operated.inspectable.sessions, operated.inspectable.live
    performance = fleet.processes[asked].performance()
    assert performance is not None

    # When
    status, answer = told(await performance.answer(json.dumps({**ARCHIVE, **NOW}).encode(), "/10.0.0.7"))

    # Then
    assert (status, answer["executed"]) == (200, True)
    [actor] = operated.world.state_log.actors[-1]
    assert actor.reason == "archive by root@/10.0.0.7: poison"


IN_DOUBT = "whether it was done is not known: {why}; look again before you repeat it"
NOT_TOLD = "nothing was to be changed, and what would be is not known: {why}"


@pytest.mark.parametrize(
    ("asked_for", "told_of_it"),
    [({**ARCHIVE, **NOW}, IN_DOUBT), (ARCHIVE, NOT_TOLD)],
    ids=["done", "dry run"],
)
@pytest.mark.parametrize("is_faulty", [False, True], ids=["silent", "faulty"])
async def test_a_process_that_does_not_answer_leaves_open_what_was_asked_of_it(
    asked_for: dict[str, Any], told_of_it: str, *, is_faulty: bool
) -> None:
    # Given
    fleet = InspectableFleet("kproxy-a", "kproxy-b")
    operated = await OperatedGroups().begin()
    owner = fleet.owners[fleet.slot_of("g")]
    asked = fleet.processes[next(name for name in fleet.owners if name != owner)]
    asked.operators = operated.inspectable.operators
    fleet.silent[owner] = why = f"{owner} shows nothing within 12000 ms"
    if is_faulty:
        asked.peer_views, why = Faulty(), f"{owner} met an unexpected fault"
    performance = asked.performance()
    assert performance is not None

    # When
    status, answer = told(await performance.answer(json.dumps(asked_for).encode(), "/10.0.0.7"))

    # Then
    assert (status, answer["items"][0]["message"]) == (503, told_of_it.format(why=why))


class Faulty:
    """What is asked of others ends in a fault there, as their internal listener tells it."""

    async def ask(self, _peer: Peer, _path: str, *, patience_ms: int) -> PeerAnswer:
        assert patience_ms
        return PeerAnswer(500, b'{"error": "kproxy met an unexpected fault"}')


async def test_what_may_be_there_all_the_same_is_unavailable() -> None:
    # Given
    operated = await OperatedGroups().begin()
    operated.inspectable.unavailable = "slot 3 is being loaded"

    # When
    status, answer = await ask(operated, {**ARCHIVE, "group": "x"})

    # Then
    assert (status, answer["items"][0]["message"]) == (
        503,
        "nothing of that is known: slot 3 is being loaded",
    )


async def test_a_group_that_is_not_served_yet_is_unavailable() -> None:
    # Given
    operated = await OperatedGroups().begin()
    operated.world.group_log.unreadiness = CoordinatorLoadInProgress("slot 3 is being loaded")

    # When
    status, _ = await ask(operated, ARCHIVE)

    # Then
    assert status == 503


class ManyRuns:
    """Operators to whom every record is a run of its own."""

    def __init__(self, runs: Sequence[SettledRun]) -> None:
        self._runs = runs

    def plan(self, *_asked: object) -> Sequence[SettledRun]:
        return self._runs

    async def settle(self, *_asked: object, reason: str) -> Sequence[SettledRun]:
        assert reason
        return self._runs


def runs_of(count: int, client_id: str = "client") -> ManyRuns:
    acquired, archived = RecordState.ACQUIRED, RecordState.ARCHIVED
    return ManyRuns(
        [SettledRun(n, n, 1, acquired, archived, MemberId("alice"), client_id) for n in range(count)]
    )


@pytest.mark.parametrize("asked", [ARCHIVE, {**ARCHIVE, **NOW}])
async def test_others_have_many_turns_while_an_answer_of_thousands_of_runs_is_made(
    asked: dict[str, Any],
) -> None:
    # Given
    operated = await OperatedGroups().begin()
    operated.inspectable.operators = runs_of(5_000)  # type: ignore[assignment]  # all that it is asked for here
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.get_running_loop().create_task(count_turns())

    # When
    status, answer = await ask(operated, asked)

    # Then
    others.cancel()
    assert (status, [run["firstOffset"] for run in answer["items"]]) == (200, list(range(5_000)))
    assert turns >= len(json.dumps(answer)) // CHUNK_LENGTH


async def test_a_plan_that_is_too_long_to_be_told_is_refused_and_one_that_is_executed_is_told() -> None:
    # Given
    operated = await OperatedGroups().begin()
    operated.inspectable.operators = runs_of(300, "c" * 32_000)  # type: ignore[assignment]  # as above

    # When
    planned = await ask(operated, ARCHIVE)
    executed = await ask(operated, {**ARCHIVE, **NOW})

    # Then
    assert planned[0] == 413
    assert "name fewer offsets" in planned[1]["items"][0]["message"]
    assert (executed[0], len(executed[1]["items"])) == (200, 300)
