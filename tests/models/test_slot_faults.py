"""Faults of kproxy itself, and failures that hide what happened, at bad moments in the life of a slot."""

import asyncio

import pytest

from kproxy.errors import BrokerUnavailable, StateLogUnavailable
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.statelog.slot_status import SlotState
from kproxy.statelog.tickets import Ticket
from tests.worlds.slot_scenes import BEGINNING
from tests.worlds.state_logs import StateLogBacking, alarms, drained, refusal_of
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
