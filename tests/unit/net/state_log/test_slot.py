"""The life of a slot: claimed, loaded, serving. What happens when appends fail: tests/models/test_slot_doubts.py."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorLoadInProgress, NotCoordinator, StateLogUnavailable
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.net.state_log.log_scan import LogTruncated
from kproxy.net.state_log.slot import StateSlot
from kproxy.share.identifiers import SharePartitionKey, StateEpoch
from kproxy.statelog.operations import Initialize
from kproxy.statelog.share_coordinator import ShareCoordinator
from kproxy.statelog.slot_status import SlotState
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import StateRecord
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_scenes import BEGINNING, CONFIGS, KEY, OTHER, has_no_life, with_state
from tests.worlds.state_logs import (
    StateLogBacking,
    acknowledged,
    alarms,
    became,
    done_with,
    drained,
    refusal_of,
    state_log,
)
from tests.worlds.waiting import until

# ---------------------------------------------------- claimed and loaded


async def test_a_slot_serves_once_it_is_claimed_and_loaded(backing: StateLogBacking) -> None:
    # When
    slot = await backing.ready_slot()

    # Then
    slot.require_ready()
    status = slot.status()
    assert (status.state, status.reason, status.claim_epoch, status.applied_offset) == (
        SlotState.READY,
        "",
        0,
        0,
    )
    assert backing.listener.events == ["loaded 0"]
    assert backing.measured.counts["statelog_replayed_records",] == 2


async def test_while_it_is_being_loaded_everybody_is_asked_to_come_back(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    cluster.may_land.clear()

    # When
    slot = backing.slot(claims)
    await cluster.brokers[1].until_asked(ApiKey.PRODUCE)

    # Then
    for use in (slot.require_ready, lambda: slot.submit(BEGINNING), lambda: slot.submit_group(CONFIGS)):
        with pytest.raises(CoordinatorLoadInProgress, match="slot 0 of the state log: "):
            use()
    assert (slot.is_ready, slot.loaded(), slot.states().states) == (False, None, {})


async def test_who_waits_for_a_slot_that_takes_too_long_goes_on_without_it(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    cluster.may_land.clear()
    slot = backing.slot(claims)

    # When
    for _ in range(3):
        await slot.settled(0.01)

    # Then
    assert not slot.is_ready
    cluster.may_land.set()
    await slot.settled(10)
    assert slot.is_ready


async def test_an_append_that_cannot_be_replayed_costs_a_rebuild_and_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    honest = StateLogFold.replay
    faults = [RuntimeError("a fault of kproxy itself")]

    def broken(fold: StateLogFold, record: StateRecord, **place: Any) -> Outcome:
        if faults:
            raise faults.pop()
        return honest(fold, record, **place)

    monkeypatch.setattr(StateLogFold, "replay", broken)

    # When
    refusal = await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

    # Then
    assert isinstance(refusal, StateLogUnavailable)
    await until(lambda: backing.listener.events == ["loaded 0", "lost 0", "loaded 0"])
    await drained(slot)
    assert done_with(slot, KEY) == [(0, 6)]
    assert "append_not_taken_in" in [record.msg for record in alarms(caplog)]


async def test_an_operation_of_which_no_append_can_be_made_costs_a_rebuild_and_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    honest = ShareCoordinator.initialize_state

    def broken(coordinator: ShareCoordinator, key: SharePartitionKey, **values: Any) -> object:
        if key == OTHER:
            raise RuntimeError("a fault of kproxy itself")
        return honest(coordinator, key, **values)

    monkeypatch.setattr(ShareCoordinator, "initialize_state", broken)

    # When
    tickets = [
        slot.submit(acknowledged(KEY, 5, 5)),
        slot.submit(Initialize(OTHER, StateEpoch(0), 0)),
        slot.submit(BEGINNING),
        slot.submit_group(CONFIGS),
    ]
    refusals = [await refusal_of(ticket) for ticket in tickets]

    # Then
    assert {type(refusal) for refusal in refusals} == {StateLogUnavailable}
    await until(lambda: backing.listener.events == ["loaded 0", "lost 0", "loaded 0"])
    slot.submit(acknowledged(KEY, 5, 5))
    await drained(slot)
    assert done_with(slot, KEY) == [(0, 5)]
    assert "append_not_made" in [record.msg for record in alarms(caplog)]


async def test_what_is_submitted_becomes_durable_and_is_there_after_a_restart(
    backing: StateLogBacking,
) -> None:
    # Given
    first = await with_state(backing)
    first.submit_group(CONFIGS)
    await drained(first)

    # When
    second = await backing.ready_slot()

    # Then
    assert done_with(second, KEY) == [(0, 4)]
    assert backing.listener.configs[0] == {"workers": {"share.auto.offset.reset": "earliest"}}
    assert second.states().applied_offset == second.status().applied_offset


async def test_the_state_that_people_are_shown_stays_as_it_was_at_its_offset(
    backing: StateLogBacking,
) -> None:
    # Given
    slot = await with_state(backing)
    shown = slot.states()

    # When
    slot.submit(Initialize(OTHER, StateEpoch(0), 0))
    await drained(slot)

    # Then
    assert set(shown.states) == {KEY}
    assert set(slot.states().states) == {KEY, OTHER}


async def test_a_broker_that_is_not_ready_is_tried_again_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    caplog.set_level("INFO")
    # Given
    cluster.refused_initializations.extend([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2)

    # When
    await backing.ready_slot()

    # Then
    assert backing.measured.counts["statelog_delays",] == 2
    assert [record.msg for record in caplog.records if record.msg == "slot_delayed"] == ["slot_delayed"]
    assert alarms(caplog) == []


# ---------------------------------------------------- work


async def test_work_is_what_waits_or_is_on_its_way(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await backing.ready_slot()
    cluster.may_land.clear()

    # When
    slot.submit(BEGINNING)
    await until(lambda: len(cluster.produced()) == 3)
    while_in_flight = (slot.has_work, slot.status().waiting_count)
    cluster.may_land.set()
    await until(lambda: len(cluster.records(state_log())) == 2)
    await drained(slot)

    # Then
    assert while_in_flight == (True, 1)
    assert slot.status().key_count == 1


# ---------------------------------------------------- given up


def is_elsewhere(slot: StateSlot) -> None:
    """Let another process have it."""
    slot.lose("the map gives it to another")
    slot.is_at("kproxy at host-2")


GIVEN_UP: dict[SlotState, tuple[Callable[[StateSlot], None], type[ApiError]]] = {
    SlotState.UNASSIGNED: (
        lambda slot: slot.lose("nothing was heard of the fleet"),
        CoordinatorLoadInProgress,
    ),
    SlotState.ELSEWHERE: (is_elsewhere, NotCoordinator),
    SlotState.STOPPED: (lambda slot: slot.abandon("its topics are no more"), StateLogUnavailable),
}
"""How a slot gets there, and what those hear who want something of it then."""


async def slot_in(
    state: SlotState, cluster: ScriptedStateLog, backing: StateLogBacking, patch: pytest.MonkeyPatch
) -> StateSlot:
    """Return a slot that is in `state`, and stays there."""
    claims = backing.claims(await backing.found())
    if state is SlotState.CLAIMING:
        cluster.may_land.clear()
    if state is SlotState.LOADING:
        patch.setattr(claims, "load", never_loaded)
    if state is SlotState.STOPPED:
        cluster.write_foreign(state_log(), Record(b"\x00\x63what", b"?"))
    if state in NOT_SERVED:
        slot = backing.slot(claims)
    else:
        slot = await with_state(backing)
    if state is SlotState.LEAVING:
        slot.begin_to_leave()
    elif state in GIVEN_UP and state not in NOT_SERVED:
        GIVEN_UP[state][0](slot)
    await became(slot, state)
    return slot


NOT_SERVED = {SlotState.CLAIMING, SlotState.LOADING, SlotState.STOPPED}
"""How `slot_in` makes them."""


async def never_loaded(_: ClaimedSlot) -> LoadedSlot:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("end", GIVEN_UP, ids=str)
@pytest.mark.parametrize("state", SlotState, ids=str)
async def test_a_slot_can_be_given_up_in_every_state_and_then_nobody_tends_it(
    state: SlotState,
    end: SlotState,
    monkeypatch: pytest.MonkeyPatch,
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
) -> None:
    # Given
    slot = await slot_in(state, cluster, backing, monkeypatch)
    waiting = [] if state is not SlotState.READY else [slot.submit(acknowledged(KEY, 5, 6))]
    give_up, refusal = GIVEN_UP[end]

    # When
    give_up(slot)

    # Then
    await has_no_life(slot)
    was_elsewhere = state is SlotState.ELSEWHERE and end is SlotState.UNASSIGNED
    assert slot.state is (state if was_elsewhere else end), "who owns it is not forgotten"
    assert (slot.loaded(), slot.has_work) == (None, False)
    for ticket in waiting:
        await refusal_of(ticket)
    assert backing.listener.events[:1] == ([] if state in NOT_SERVED else ["loaded 0"])
    assert set(backing.listener.events[1:]) == (set() if state in NOT_SERVED else {"lost 0"})
    with pytest.raises(NotCoordinator if was_elsewhere else refusal):
        slot.require_ready()


@pytest.mark.parametrize("end", [SlotState.ELSEWHERE, SlotState.STOPPED], ids=str)
@pytest.mark.parametrize("state", [SlotState.UNASSIGNED, SlotState.CLAIMING, SlotState.LOADING], ids=str)
async def test_who_waits_for_a_slot_goes_on_when_it_is_known_that_it_is_not_served_here(
    state: SlotState,
    end: SlotState,
    monkeypatch: pytest.MonkeyPatch,
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
) -> None:
    # Given
    slot = await slot_in(state, cluster, backing, monkeypatch)
    async with asyncio.TaskGroup() as tasks, asyncio.timeout(10):
        waiting = tasks.create_task(slot.settled())
        await asyncio.sleep(0)

        # When
        GIVEN_UP[end][0](slot)

    # Then
    assert waiting.done()


async def test_a_slot_whose_topics_are_no_more_is_never_taken_again(backing: StateLogBacking) -> None:
    # Given
    slot = await with_state(backing)
    slot.abandon("its topics are no more")

    # When
    slot.take()
    slot.lose("the map gives it to another")
    slot.is_at("kproxy at host-2")

    # Then
    assert (slot.state, slot.reason) == (SlotState.STOPPED, "its topics are no more")
    await has_no_life(slot)


# ---------------------------------------------------- faults


async def test_a_slot_whose_life_was_upset_by_a_fault_begins_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    honest = claims.load
    faults = [RuntimeError("a fault of kproxy itself")]

    async def faulty(claimed: ClaimedSlot) -> LoadedSlot:
        if faults:
            raise faults.pop()
        return await honest(claimed)

    monkeypatch.setattr(claims, "load", faulty)

    # When
    slot = await backing.ready_slot(claims)

    # Then
    assert slot.status().claim_epoch == 1
    assert [record.msg for record in alarms(caplog)] == ["slot_failed"]


async def test_a_log_that_loses_records_while_it_is_read_raises_the_alarm_and_is_read_again(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    honest = claims.load
    upsets = [1]

    async def upset(claimed: ClaimedSlot) -> LoadedSlot:
        if upsets:
            upsets.clear()
            cluster.truncate(state_log(), 0)
            cluster.log(state_log().topic_id, 0).move_start(0)
            raise LogTruncated("the log has offsets 0 to -1")
        return await honest(claimed)

    monkeypatch.setattr(claims, "load", upset)

    # When
    slot = await backing.ready_slot(claims)

    # Then
    assert slot.is_ready
    assert backing.measured.counts["statelog_truncations",] == 2
