"""Slots that are handed over in order: what was queued is written and answered, nothing new is taken, and it ends."""

import asyncio
import time

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import FencedLeaderEpoch, NotCoordinator, StateLogUnavailable
from kproxy.net.state_log import slots as state_slots
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.operations import Initialize
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_allocations import ANOTHER, MYSELF, map_with
from tests.worlds.slot_scenes import CONFIGS, has_no_life
from tests.worlds.state_logs import (
    SLOT_COUNT,
    STATE,
    StateLogBacking,
    acknowledged,
    became,
    done_with,
    drained,
    key_of_slot,
    refusal_of,
    state_log,
)
from tests.worlds.waiting import until, until_all_wait

HERE, THERE = key_of_slot(0), key_of_slot(1)
ALL = frozenset(range(SLOT_COUNT))
SLOT_0 = frozenset({0})


async def with_state(backing: StateLogBacking) -> StateSlots:
    """Return slots with one share-partition each."""
    slots = await backing.ready_slots()
    for key in (HERE, THERE):
        slots.slot_of_group(key.group_id).submit(Initialize(key, StateEpoch(0), 0))
    await slots.drain(10)
    return slots


async def test_what_was_queued_is_written_and_answered_before_a_slot_is_given_up(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await with_state(backing)
    slot = slots.all()[0]
    cluster.may_land.clear()
    before = len(cluster.produced())
    tickets = [slot.submit(acknowledged(HERE, 0, 4))]
    await until(lambda: len(cluster.produced()) > before)
    tickets += [slot.submit(acknowledged(HERE, 5, 9)), slot.submit_group(CONFIGS)]

    # When
    slots.give_up(SLOT_0)
    await until_all_wait()
    in_between = (slot.state, set(backing.fleet.given_up))
    cluster.may_land.set()
    await until(lambda: backing.fleet.given_up == SLOT_0)

    # Then
    assert in_between == (SlotState.LEAVING, set())
    assert [ticket.is_done and ticket.refusal is None for ticket in tickets] == [True] * 3
    assert slot.state is SlotState.UNASSIGNED
    async with StateLogBacking(cluster) as other:
        assert done_with(await other.ready_slot(), HERE) == [(0, 9)]


async def test_a_slot_that_is_being_handed_over_takes_nothing_new_and_what_was_acquired_is_forgotten(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await with_state(backing)
    slot = slots.all()[0]
    cluster.may_land.clear()
    slot.submit(acknowledged(HERE, 0, 4))

    # When
    slots.give_up(SLOT_0)

    # Then
    for use in (
        slot.require_ready,
        lambda: slot.submit(acknowledged(HERE, 5, 9)),
        lambda: slot.submit_group(CONFIGS),
    ):
        with pytest.raises(NotCoordinator, match="it is being handed over"):
            use()
    assert (backing.listener.events[-1], backing.listener.left) == ("lost 0", [0])
    assert slots.problem() == ""
    slots.all()[1].require_ready()
    cluster.may_land.set()


async def test_what_cannot_be_written_holds_a_handover_up_for_so_long_and_is_refused_then(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    monkeypatch.setattr(state_slots, "HANDING_OVER_SECONDS", 0.05)
    # Given
    slots = await with_state(backing)
    cluster.may_land.clear()
    stuck = slots.all()[0].submit(acknowledged(HERE, 0, 4))
    began = time.monotonic()

    # When
    slots.give_up(ALL)
    await until(lambda: backing.fleet.given_up == ALL)

    # Then
    assert time.monotonic() - began >= 0.05
    assert type(await refusal_of(stuck)) is FencedLeaderEpoch
    assert [slot.state for slot in slots.all()] == [SlotState.UNASSIGNED] * SLOT_COUNT
    assert [slot.has_work for slot in slots.all()] == [False] * SLOT_COUNT


async def test_a_slot_that_is_not_loaded_yet_is_given_up_without_being_served_first(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = backing.idle_slots(backing.claims(await backing.found()), SLOT_COUNT)
    cluster.may_land.clear()
    slots.map_changed(map_with(MYSELF, ANOTHER), SLOT_0)
    await became(slots.all()[0], SlotState.CLAIMING)

    # When
    slots.give_up(SLOT_0)
    state = slots.all()[0].state
    await until(lambda: backing.fleet.given_up == SLOT_0)
    cluster.may_land.set()
    await has_no_life(slots.all()[0])

    # Then
    assert (state, slots.all()[0].state) == (SlotState.UNASSIGNED, SlotState.UNASSIGNED)
    assert backing.listener.events == []


async def test_a_doubt_in_the_middle_of_a_handover_ends_it_and_the_slot_is_not_claimed_again(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await with_state(backing)
    slot = slots.all()[0]
    cluster.refuse_append(state_log(), ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    in_doubt = slot.submit(acknowledged(HERE, 0, 4))

    # When
    slots.give_up(SLOT_0)
    await until(lambda: backing.fleet.given_up == SLOT_0)
    await has_no_life(slot)

    # Then
    assert type(await refusal_of(in_doubt)) is StateLogUnavailable
    assert slot.state is SlotState.UNASSIGNED
    assert cluster.producer_epoch(f"{STATE}-0") == 0
    assert set(backing.listener.events[SLOT_COUNT:]) == {"lost 0"}


async def test_a_slot_that_was_lost_and_gained_anew_during_a_handover_is_not_given_up_by_it(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    """The lease may end while what was queued is written, and a newer map give the slot to this process again."""
    # Given
    slots = await with_state(backing)
    slot, other = slots.all()
    cluster.may_land.clear()
    for each, key in ((slot, HERE), (other, THERE)):
        each.submit(acknowledged(key, 0, 4))
    slots.give_up(ALL)
    await until_all_wait()

    # When
    slots.slots_lost(SLOT_0, "nothing was heard of the fleet's coordinator in time")
    slots.map_changed(map_with(MYSELF, MYSELF), SLOT_0)
    cluster.may_land.set()
    await until(lambda: bool(backing.fleet.given_up))
    await slot.settled(10)

    # Then
    assert backing.fleet.given_up == {1}
    assert slot.is_ready
    slot.submit(acknowledged(HERE, 5, 9))
    await drained(slot)


async def test_a_slot_that_every_new_map_asks_for_is_handed_over_once(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    told: list[frozenset[int]] = []
    slots = await with_state(backing)
    monkeypatch.setattr(backing.fleet, "gave_up", told.append)
    cluster.may_land.clear()
    slots.all()[0].submit(acknowledged(HERE, 0, 4))

    # When
    slots.give_up(SLOT_0)
    slots.give_up(ALL)
    cluster.may_land.set()
    await until(lambda: len(told) == 2)
    slots.give_up(SLOT_0)
    await until(lambda: len(told) == 3)

    # Then
    assert sorted(map(sorted, told)) == [[0], [0], [1]]


async def test_nothing_is_said_of_a_handover_whose_topics_are_no_more(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    """The process joins anew with other slots, of which the fleet must not hear that they were given up."""
    # Given
    slots = await with_state(backing)
    cluster.may_land.clear()
    slots.all()[0].submit(acknowledged(HERE, 0, 4))
    slots.give_up(ALL)
    await until_all_wait()

    # When
    slots.abandon("the topics are no more")
    await until(lambda: not any(task.get_name() == "handover of slots" for task in asyncio.all_tasks()))

    # Then
    assert backing.fleet.given_up == set()
    assert [slot.state for slot in slots.all()] == [SlotState.STOPPED] * SLOT_COUNT
