"""Slots that are given to this process, and may be another one's: maps, claims under other maps, leases."""

import asyncio

import pytest

from kproxy.errors import BrokerUnavailable, FencedLeaderEpoch, NotCoordinator
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.statelog.claims import NO_MAP_EPOCH
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_allocations import EPOCH, FLEET
from tests.worlds.slot_scenes import BEGINNING, CONFIGS, KEY, lives_of, served_again, with_state
from tests.worlds.state_logs import (
    STATE,
    StateLogBacking,
    acknowledged,
    became,
    done_with,
    drained,
    refusal_of,
)
from tests.worlds.waiting import until, until_all_wait

# ---------------------------------------------------- taken, lost, and taken again


async def test_a_slot_that_is_taken_in_the_turn_in_which_it_was_lost_is_claimed_once_more_and_served(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)

    # When
    slot.lose("the map gives it to another")
    slot.take()
    await served_again(backing, slot)

    # Then
    assert done_with(slot, KEY) == [(0, 4)]
    assert (cluster.producer_epoch(f"{STATE}-0"), len(lives_of(slot))) == (1, 1)


async def test_a_slot_is_tended_by_one_life_at_a_time_however_long_a_former_one_takes_to_end(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    """`asyncio.gather` raises the failure of one of its coroutines in place of a cancellation that came with it."""
    # Given
    claims = backing.claims(await backing.found())
    honest, may_end = claims.claim, asyncio.Event()
    claiming: list[int] = []

    async def slow_to_end(number: int, map_epoch: int, fleet_group: str) -> ClaimedSlot:
        claiming.append(map_epoch)
        try:
            if may_end.is_set():
                return await honest(number, map_epoch, fleet_group)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await may_end.wait()
            raise BrokerUnavailable("a broker does not answer") from None
        raise AssertionError

    monkeypatch.setattr(claims, "claim", slow_to_end)
    slot = backing.slot(claims)
    await until(lambda: len(claiming) == 1)

    # When
    for _ in range(3):
        slot.lose("the map gives it to another")
        slot.take()
        await until_all_wait()
    count_before = len(claiming)
    may_end.set()
    await slot.settled(10)

    # Then
    assert (count_before, slot.state, len(claiming)) == (1, SlotState.READY, 2)
    assert (cluster.producer_epoch(f"{STATE}-0"), len(lives_of(slot))) == (0, 1)


async def test_taking_a_slot_that_is_served_changes_nothing(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)

    # When
    slot.take()
    await until_all_wait()

    # Then
    assert slot.is_ready
    assert (cluster.producer_epoch(f"{STATE}-0"), len(lives_of(slot))) == (0, 1)


async def test_what_another_process_did_in_between_is_there_when_a_slot_is_taken_again(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    slot.lose("the map gives it to another")
    async with StateLogBacking(cluster) as other:
        elsewhere = await other.ready_slot()
        elsewhere.submit(acknowledged(KEY, 7, 8))
        await drained(elsewhere)
    backing.fleet.map_epoch = EPOCH

    # When
    slot.take()
    await served_again(backing, slot)

    # Then
    assert done_with(slot, KEY) == [(0, 4), (7, 8)]


# ---------------------------------------------------- claims under other maps


async def claimed_by_another(
    backing: StateLogBacking, map_epoch: int, fleet_group: str = FLEET, number: int = 0
) -> None:
    """Let another process claim a slot, and do nothing with it."""
    claims = backing.claims(await backing.found(), owner="kproxy at host-2")
    await claims.claim(number, map_epoch, fleet_group)


async def test_whoever_loads_a_claim_under_a_newer_map_does_not_serve_and_lets_the_fleet_know(
    backing: StateLogBacking,
) -> None:
    # Given
    await claimed_by_another(backing, EPOCH)

    # When
    slot = backing.slot(backing.claims(await backing.found()))
    await until(lambda: backing.fleet.seen_epoch == EPOCH)

    # Then
    await until(lambda: f"claimed under map {EPOCH}, and this process knows only map" in slot.reason)
    assert backing.listener.events == []


async def test_whoever_hears_of_a_newer_map_that_leaves_it_a_slot_serves_it_under_that_map(
    backing: StateLogBacking,
) -> None:
    # Given
    await claimed_by_another(backing, EPOCH)
    slot = backing.slot(backing.claims(await backing.found()))
    await until(lambda: backing.fleet.seen_epoch == EPOCH)

    # When
    backing.fleet.map_epoch = EPOCH + 1
    await slot.settled(10)

    # Then
    assert slot.is_ready


@pytest.mark.parametrize("map_epoch", [NO_MAP_EPOCH, 0])
async def test_a_claim_of_whoever_knew_an_older_map_does_not_take_a_slot_away(
    map_epoch: int, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    await claimed_by_another(backing, map_epoch)

    # When
    refusal = await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))
    await served_again(backing, slot)
    slot.submit(acknowledged(KEY, 5, 6))
    await drained(slot)

    # Then
    assert type(refusal) is FencedLeaderEpoch
    assert done_with(slot, KEY) == [(0, 6)]
    assert backing.fleet.seen_epoch == NO_MAP_EPOCH


async def test_a_slot_that_another_fleet_claimed_with_a_higher_epoch_is_stopped_with_the_remedy(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    await claimed_by_another(backing, EPOCH, "another fleet")

    # When
    await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))
    await became(slot, SlotState.STOPPED)

    # Then
    assert "for the fleet 'another fleet'; give both one kproxy.fleet.group" in slot.reason
    assert backing.fleet.seen_epoch == NO_MAP_EPOCH, "it is no word of a newer map of this fleet"
    assert backing.listener.events == ["loaded 0", "lost 0"]
    assert cluster.producer_epoch(f"{STATE}-0") == 1


async def test_whoever_knows_that_its_map_is_older_than_a_claim_claims_nothing_before_it_hears_of_a_newer_one(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    await claimed_by_another(backing, EPOCH)
    slot = backing.slot(backing.claims(await backing.found()))
    await until(lambda: f"knows only map {backing.fleet.map_epoch}" in slot.reason)
    epoch = cluster.producer_epoch(f"{STATE}-0")

    # When
    await until(lambda: backing.measured.counts["statelog_delays",] >= 4)

    # Then
    assert cluster.producer_epoch(f"{STATE}-0") == epoch == 1


# ---------------------------------------------------- leases


async def test_a_slot_is_not_served_when_the_lease_ended_while_it_was_loaded(
    monkeypatch: pytest.MonkeyPatch, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    honest = claims.load

    async def load(claimed: ClaimedSlot) -> LoadedSlot:
        loaded = await honest(claimed)
        backing.fleet.has_lease = False
        return loaded

    monkeypatch.setattr(claims, "load", load)

    # When
    slot = backing.slot(claims)
    await until(lambda: "nothing was heard of the fleet's coordinator" in slot.reason)

    # Then
    assert (slot.state, backing.listener.events) == (SlotState.CLAIMING, [])
    monkeypatch.undo()
    backing.fleet.has_lease = True
    await slot.settled(10)
    assert slot.is_ready


async def test_whatever_a_slot_holds_nothing_is_asked_of_it_once_the_lease_ended(
    backing: StateLogBacking,
) -> None:
    """A process that stood still is told of the end of its lease later than it ended."""
    # Given
    slot = await with_state(backing)

    # When
    backing.fleet.has_lease = False

    # Then
    for use in (slot.require_ready, lambda: slot.submit(BEGINNING), lambda: slot.submit_group(CONFIGS)):
        with pytest.raises(NotCoordinator, match="nothing was heard of the fleet's coordinator in time"):
            use()
    assert not slot.has_work
