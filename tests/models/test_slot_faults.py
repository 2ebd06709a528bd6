"""Faults of kproxy itself, and failures that hide what happened, at bad moments in the life of a slot."""

import asyncio

import pytest

from kproxy.errors import BrokerUnavailable, FencedLeaderEpoch, NotCoordinator, StateLogUnavailable
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.operations import Initialize
from kproxy.statelog.slot_status import SlotState
from kproxy.statelog.tickets import Ticket
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_scenes import BEGINNING, CONFIGS
from tests.worlds.state_logs import SLOT_COUNT, StateLogBacking, alarms, drained, key_of_slot, refusal_of
from tests.worlds.waiting import until


async def test_a_fault_when_a_slot_begins_to_serve_leaves_nothing_of_that_claim(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    # Given
    honest = backing.reports.loaded
    submitted: list[Ticket] = []

    def faulty(number: int, loaded: LoadedSlot) -> None:
        if not submitted:
            submitted.append(slot.submit(BEGINNING))
            raise RuntimeError("a fault of kproxy itself")
        honest(number, loaded)

    monkeypatch.setattr(backing.reports, "loaded", faulty)

    # When
    slot = backing.slot(backing.claims(await backing.found()))
    await until(lambda: backing.listener.events[-1:] == ["loaded 0"] and slot.status().claim_epoch == 1)
    await drained(slot)

    # Then
    assert isinstance(await refusal_of(submitted[0]), StateLogUnavailable)
    assert backing.listener.events == ["loaded 0", "lost 0", "loaded 0"]
    assert [record.msg for record in alarms(caplog)] == ["slot_failed", "slot_rebuilt"]


async def test_a_failure_that_hides_the_end_of_a_slot_does_not_begin_it_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backing: StateLogBacking
) -> None:
    """`asyncio.gather` raises the failure of one of its coroutines in place of a cancellation that came with it."""
    # Given
    claims = backing.claims(await backing.found())
    is_claiming = asyncio.Event()

    async def failing_claim(_: int) -> ClaimedSlot:
        is_claiming.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise BrokerUnavailable("a broker does not answer") from None
        raise AssertionError

    monkeypatch.setattr(claims, "claim", failing_claim)
    slot = backing.slot(claims)
    await is_claiming.wait()

    # When
    slot.step_down("another process owns it")
    await asyncio.wait([backing.lives[slot]], timeout=10)

    # Then
    assert backing.lives[slot].exception() is None
    assert (slot.state, slot.reason) == (SlotState.STEPPED_DOWN, "another process owns it")
    assert alarms(caplog) == []


@pytest.mark.parametrize("faulty_slot", range(SLOT_COUNT))
async def test_a_fault_while_one_slot_is_lost_keeps_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
    faulty_slot: int,
) -> None:
    # Given
    slots = await backing.ready_slots()
    honest = backing.listener.slot_lost

    def faulty(number: int) -> None:
        honest(number)
        if number == faulty_slot:
            raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(backing.listener, "slot_lost", faulty)
    async with StateLogBacking(cluster) as other:
        newer = other.idle_slots(other.claims(await other.found(), owner="kproxy at host-2"), SLOT_COUNT)
        newer.start(other.tasks)
        await until(lambda: newer.problem() == "")

        # When
        await slots.require_owned()

        # Then
        assert [slot.state for slot in slots.all()] == [SlotState.STEPPED_DOWN] * SLOT_COUNT
        assert sorted(backing.listener.events[-SLOT_COUNT:]) == ["lost 0", "lost 1"]
        assert [record.msg for record in alarms(caplog)] == ["slot_not_left", "slot_stepped_down"]


async def test_what_waits_is_refused_although_a_slot_meets_a_fault_while_it_is_lost(
    backing: StateLogBacking,
) -> None:
    # Given
    slot = await backing.ready_slot()
    waiting, of_group = slot.submit(BEGINNING), slot.submit_group(CONFIGS)

    def faulty(_: Ticket) -> None:
        raise RuntimeError("a fault of kproxy itself")

    waiting.on_done = faulty

    # When
    slot.step_down("another process owns it")

    # Then
    assert isinstance(await refusal_of(waiting), FencedLeaderEpoch)
    assert isinstance(await refusal_of(of_group), NotCoordinator)
    assert backing.listener.events[-1] == "lost 0"


async def test_a_slot_that_is_still_there_when_all_are_lost_leaves_by_itself(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    """Whatever kept it: it must not look into the log of slot 0 again and again."""
    # Given
    slots = await backing.ready_slots()
    slot = slots.slot_of_group(key_of_slot(1).group_id)
    monkeypatch.setattr(slot, "step_down", lambda _: None)
    async with StateLogBacking(cluster) as other:
        newer = other.idle_slots(other.claims(await other.found(), owner="kproxy at host-2"), SLOT_COUNT)
        newer.start(other.tasks)
        await until(lambda: newer.problem() == "")
        await slots.require_owned()
        monkeypatch.undo()

        # When
        slot.submit(Initialize(key_of_slot(1), StateEpoch(0), 0))

        # Then
        await until(lambda: slot.state is SlotState.STEPPED_DOWN)
