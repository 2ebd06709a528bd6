"""Requests wait for the state log, bounded, and for nothing that cannot come."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.readiness import StateNeed
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.state_log import service as state_log_service
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.readiness import LogReadiness
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.waking_turns import WakingTurns
from kproxy.share.identifiers import TopicId
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.worlds.state_log_process import HERE, THERE, Process
from tests.worlds.state_logs import (
    SLOT_COUNT,
    STATE,
    StateLogBacking,
    groups_log,
    state_log,
)
from tests.worlds.waiting import most_in_a_turn, until

CONNECTION, ANOTHER = 7, 8
NEED = StateNeed((HERE.group_id, THERE.group_id))
"""Something of every slot."""
NEED_OF_SLOT_0 = StateNeed((HERE.group_id,))


@pytest.fixture
def process(backing: StateLogBacking) -> Process:
    """A process that was not started, in front of a cluster that has the state topics."""
    return Process(backing)


def begin(process: Process, need: StateNeed = NEED, connection_id: int = CONNECTION) -> asyncio.Task[int]:
    """Begin to wait."""
    return asyncio.get_running_loop().create_task(process.service.readiness.wait(need, connection_id))


async def waits(process: Process, count: int) -> None:
    """Return when so many requests wait."""
    await until(lambda: process.service.readiness.waiting_count == count)


async def test_a_request_waits_until_all_that_it_needs_is_loaded(process: Process) -> None:
    # Given
    wait = begin(process)
    await waits(process, 1)

    # When
    process.service.start()
    waited_ms = await wait

    # Then
    assert waited_ms > 0
    assert process.service.slots is not None
    assert process.service.slots.problem() == ""
    assert process.service.readiness.waiting_count == 0


async def test_nobody_waits_for_what_is_there(process: Process) -> None:
    # Given
    await process.serves()

    # When
    waited_ms = await process.service.readiness.wait(NEED, CONNECTION)

    # Then
    assert waited_ms == 0


async def test_those_who_waited_for_the_same_thing_go_on_in_several_turns() -> None:
    # Given
    directory = SlotDirectory()
    readiness = LogReadiness(directory, MonotonicClock(), WakingTurns(4))
    of_fetch = StateNeed()

    # When
    most = await most_in_a_turn(
        (readiness.wait(of_fetch, connection_id) for connection_id in range(20)),
        lambda: directory.close("it cannot be found", is_hopeless=True),
    )

    # Then
    assert most <= 4
    assert readiness.waiting_count == 0


class FoundSlots:
    """Slots of which none is under way any more, and in which turn of the loop they are sought."""

    def __init__(self) -> None:
        self.turn = 0
        self.sought_in = Counter[int]()

    def all(self) -> Iterable[StateSlot]:
        """Return what is under way as long as nobody has looked closer."""
        return (cast("StateSlot", SimpleNamespace(state=SlotState.LOADING)),)

    def slot_of_group(self, _: str) -> StateSlot:
        """Count."""
        self.sought_in[self.turn] += 1
        return cast("StateSlot", SimpleNamespace(state=SlotState.READY))

    async def count_turns(self) -> None:
        """Count turns until cancelled."""
        while True:
            await asyncio.sleep(0)
            self.turn += 1


async def test_those_who_waited_for_the_log_look_for_their_slots_in_several_turns() -> None:
    # Given
    directory, slots = SlotDirectory(), FoundSlots()
    readiness = LogReadiness(directory, MonotonicClock(), WakingTurns(4))
    async with asyncio.TaskGroup() as group:
        counting = group.create_task(slots.count_turns())
        works = [
            group.create_task(readiness.wait(StateNeed((f"workers-{number}",)), number))
            for number in range(20)
        ]
        await until(lambda: readiness.waiting_count == 20)

        # When
        directory.open(cast("StateSlots", slots))
        await asyncio.gather(*works)

        # Then
        assert slots.sought_in.total() == 20
        assert max(slots.sought_in.values()) <= 4
        counting.cancel()


async def test_a_slot_that_nobody_asks_for_holds_nobody_up(
    cluster: ScriptedStateLog, process: Process
) -> None:
    # Given
    cluster.decree(Fate.HELD, state_log(1), groups_log(1))
    process.service.start()

    # When
    await process.service.readiness.wait(NEED_OF_SLOT_0, CONNECTION)

    # Then
    assert process.service.slots is not None
    assert [slot.is_ready for slot in process.service.slots.all()] == [True, False]


async def test_what_needs_everything_is_held_up_by_every_slot(
    cluster: ScriptedStateLog, process: Process
) -> None:
    # Given
    cluster.decree(Fate.HELD, state_log(1), groups_log(1))
    process.service.start()

    # When
    need = StateNeed(patience_ms=20, is_everything=True)
    waited_ms = await process.service.readiness.wait(need, CONNECTION)

    # Then
    assert waited_ms >= 20


async def test_a_wait_ends_with_the_patience_of_its_request(process: Process) -> None:
    # When
    waited_ms = await process.service.readiness.wait(StateNeed(("workers",), 20), CONNECTION)

    # Then
    assert waited_ms >= 20
    assert process.service.slots is None


async def test_a_request_without_patience_does_not_wait(process: Process) -> None:
    assert await process.service.readiness.wait(StateNeed(("workers",), 0), CONNECTION) == 0


async def test_a_request_does_not_outlive_its_connection(process: Process) -> None:
    # Given
    gone, other = begin(process), begin(process, connection_id=ANOTHER)
    await waits(process, 2)

    # When
    process.service.readiness.forsake(CONNECTION)

    # Then
    with pytest.raises(CoordinatorNotAvailable, match="connection closed"):
        await gone
    assert not other.done()
    assert process.service.readiness.waiting_count == 1


async def test_at_the_end_of_the_process_all_waits_end_and_none_begins(process: Process) -> None:
    # Given
    wait = begin(process)
    await waits(process, 1)

    # When
    process.service.readiness.end()
    await wait
    waited_ms = await process.service.readiness.wait(NEED, CONNECTION)

    # Then
    assert waited_ms == 0
    assert process.service.slots is None


async def test_who_waits_for_what_does_not_come_is_released_and_others_may_wait(process: Process) -> None:
    # Given
    wait = begin(process)
    await waits(process, 1)

    # When
    process.service.readiness.release()
    await wait
    later = begin(process)

    # Then
    await waits(process, 1)
    process.service.readiness.end()
    await later


async def test_topics_that_must_not_be_used_are_not_waited_for(
    cluster: ScriptedStateLog, process: Process
) -> None:
    # Given
    cluster.configs[STATE]["retention.ms"] = "1000"
    wait = begin(process)
    await waits(process, 1)

    # When
    process.service.start()
    await wait
    waited_ms = await process.service.readiness.wait(NEED, CONNECTION)

    # Then
    assert waited_ms == 0
    assert "retention.ms=1000" in process.service.problem


async def test_a_slot_that_was_given_up_is_not_waited_for(process: Process) -> None:
    # Given
    await process.serves()
    assert process.service.slots is not None
    process.service.slots.abandon("another process owns it")

    # When
    waited_ms = await process.service.readiness.wait(NEED, CONNECTION)

    # Then
    assert waited_ms == 0


async def test_a_cluster_that_does_not_answer_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, process: Process
) -> None:
    monkeypatch.setattr(state_log_service, "GRACE_SECONDS", 0)

    # Given
    await cluster.brokers[1].stop()
    process.service.start()
    wait = begin(process)
    await process.service.first_word(10)

    # When
    await cluster.brokers[1].start()
    await wait

    # Then
    assert process.service.slots is not None
    assert process.service.slots.problem() == ""


async def test_who_waits_while_the_topics_are_created_anew_waits_for_the_new_ones(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, process: Process
) -> None:
    monkeypatch.setattr(state_log_service, "TOPIC_WATCH_SECONDS", 0.01)

    # Given
    cluster.may_land.clear()
    process.service.start()
    wait = begin(process)
    await until(lambda: process.service.slots is not None)
    before = process.service.slots

    # When
    cluster.create_topic(STATE, TopicId(b"another-topic-id"), partition_count=SLOT_COUNT)
    await process.backing.metadata.refresh()
    cluster.may_land.set()
    await wait

    # Then
    assert process.service.slots not in {None, before}


async def test_a_connection_may_close_in_the_moment_in_which_the_patience_ends(process: Process) -> None:
    # Given
    wait = begin(process, StateNeed(("workers",), 300))
    await waits(process, 1)
    faults: list[Exception] = []

    def close() -> None:
        try:
            process.service.readiness.forsake(CONNECTION)
            process.service.readiness.end()
        except Exception as fault:  # noqa: BLE001 - whatever it is, it must not be
            faults.append(fault)

    # When: both timers are due in one turn of the loop, first that of the patience
    asyncio.get_running_loop().call_later(0.305, close)
    time.sleep(0.32)  # noqa: ASYNC251 - the loop is held up, that is the point
    with pytest.raises(CoordinatorNotAvailable, match="connection closed"):
        await wait

    # Then
    assert faults == []
    assert process.service.readiness.waiting_count == 0


async def test_a_request_is_not_served_when_its_connection_closes_in_the_moment_in_which_all_is_there(
    process: Process,
) -> None:
    # Given
    process.service.start()
    await until(lambda: process.service.slots is not None)
    wait = begin(process)
    await waits(process, 1)
    assert process.service.slots is not None

    # When
    process.service.slots.abandon("nothing is to be waited for any more")
    process.service.readiness.forsake(CONNECTION)

    # Then
    with pytest.raises(CoordinatorNotAvailable, match="connection closed"):
        await wait


TOO_MUCH = pytest.mark.parametrize("group_ids", [("g",) * 1_000, ("g" * 32_767,)], ids=["many", "long"])


@TOO_MUCH
async def test_what_a_request_names_is_not_walked_through_to_find_out_that_nobody_has_to_wait(
    group_ids: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, process: Process
) -> None:
    # Given
    await process.serves()
    sought = sought_slots(process, monkeypatch)

    # When
    await process.service.readiness.wait(StateNeed(group_ids), CONNECTION)

    # Then
    assert sought == []


@TOO_MUCH
async def test_who_names_more_than_can_be_looked_up_at_once_waits_for_every_slot(
    group_ids: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, process: Process
) -> None:
    # Given
    process.service.start()
    await until(lambda: process.service.slots is not None)
    sought = sought_slots(process, monkeypatch)

    # When
    await process.service.readiness.wait(StateNeed(group_ids), CONNECTION)

    # Then
    assert process.service.slots is not None
    assert process.service.slots.problem() == ""
    assert sought == []


def sought_slots(process: Process, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the groups whose slots are sought from now on: each costs a hash over a text that the client chose."""
    slots = process.service.slots
    assert slots is not None
    sought: list[str] = []
    slot_of_group = slots.slot_of_group

    def find(group_id: str) -> StateSlot:
        sought.append(group_id)
        return slot_of_group(group_id)

    monkeypatch.setattr(slots, "slot_of_group", find)
    return sought
