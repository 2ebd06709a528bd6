"""Faults of kproxy itself, and failures that hide what happened, at bad moments in the life of a slot."""

import asyncio

import pytest

from kproxy.errors import BrokerUnavailable, FencedLeaderEpoch, NotCoordinator, StateLogUnavailable
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.statelog.slot_status import SlotState
from kproxy.statelog.tickets import Ticket
from tests.worlds.slot_scenes import BEGINNING, CONFIGS, has_no_life, lives_of
from tests.worlds.state_logs import SLOT_COUNT, StateLogBacking, alarms, drained, refusal_of
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

    async def failing_claim(*_: object) -> ClaimedSlot:
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
    (life,) = lives_of(slot)
    slot.lose("the map gives it to another")
    await has_no_life(slot)

    # Then
    assert life.exception() is None
    assert (slot.state, slot.reason) == (SlotState.UNASSIGNED, "the map gives it to another")
    assert alarms(caplog) == []


@pytest.mark.parametrize("faulty_slot", range(SLOT_COUNT))
async def test_a_fault_while_one_slot_is_lost_keeps_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
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

    # When
    slots.slots_lost(frozenset(range(SLOT_COUNT)), "the map gives them to another")

    # Then
    assert [slot.state for slot in slots.all()] == [SlotState.UNASSIGNED] * SLOT_COUNT
    assert sorted(backing.listener.events[-SLOT_COUNT:]) == ["lost 0", "lost 1"]
    assert [record.msg for record in alarms(caplog)] == ["slot_not_left"]


@pytest.mark.parametrize("faulty_slot", range(SLOT_COUNT))
async def test_a_fault_while_one_slot_is_handed_over_holds_none_of_them_up(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    backing: StateLogBacking,
    faulty_slot: int,
) -> None:
    # Given
    slots = await backing.ready_slots()

    def faulty(number: int) -> None:
        if number == faulty_slot:
            raise RuntimeError("a fault of kproxy itself")

    monkeypatch.setattr(backing.listener, "slot_lost", faulty)

    # When
    slots.give_up(frozenset(range(SLOT_COUNT)))

    # Then
    await until(lambda: backing.fleet.given_up == set(range(SLOT_COUNT)))
    assert [slot.state for slot in slots.all()] == [SlotState.UNASSIGNED] * SLOT_COUNT
    assert {record.msg for record in alarms(caplog)} == {"slot_not_left"}


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
    slot.lose("the map gives it to another")

    # Then
    assert isinstance(await refusal_of(waiting), FencedLeaderEpoch)
    assert isinstance(await refusal_of(of_group), NotCoordinator)
    assert backing.listener.events[-1] == "lost 0"
