"""All slots together: who holds what, how far they are, and when nothing waits any more."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorLoadInProgress, FencedLeaderEpoch, StateLogUnavailable
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.net.state_log.slots import SLOTS_LOADED_AT_ONCE, StateSlots
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_records import decode_group_record
from kproxy.statelog.operations import Initialize
from kproxy.statelog.slot_status import SlotState
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.in_memory.written_log import a_claim
from tests.worlds.slot_allocations import ANOTHER, FLEET, MYSELF, map_with
from tests.worlds.state_logs import (
    SLOT_COUNT,
    STATE,
    StateLogBacking,
    create_state_topics,
    groups_log,
    key_of_slot,
    state_log,
)
from tests.worlds.waiting import until, until_all_wait

HERE, THERE = key_of_slot(0), key_of_slot(1)


async def with_state(backing: StateLogBacking) -> StateSlots:
    """Return slots with one share-partition each."""
    slots = await backing.ready_slots()
    for key in (HERE, THERE):
        slots.slot_of_group(key.group_id).submit(Initialize(key, StateEpoch(0), 0))
    await slots.drain(10)
    return slots


async def test_each_share_partition_and_each_group_has_one_slot() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster, state_count=50, groups_count=50)

        # When
        slots = await backing.ready_slots()

        # Then
        assert len(slots) == len(slots.all()) == 50
        assert slots.slot_of_group(key_of_slot(45, slot_count=50).group_id).number == 45
        assert slots.slot_of_group("workers") is slots.slot_of_group("workers")
        assert [status.partition for status in slots.statuses()] == list(range(50))
        assert backing.measured.counts["statelog_replayed_records",] == 100


async def test_durable_state_is_shown_slot_by_slot_and_share_partition_by_share_partition() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)

        # When
        slots = await with_state(backing)

        # Then
        assert [set(slots.states(number).states) for number in (0, 1)] == [{HERE}, {THERE}]
        for no_slot in (-1, 2):
            with pytest.raises(IndexError):
                slots.states(no_slot)
        found = slots.state_of(HERE)
        assert found is not None
        assert found.start_offset == 0
        assert slots.state_of(key_of_slot(0, skip=1)) is None
        slots.abandon("the topics are gone")
        with pytest.raises(ApiError, match="the topics are gone"):
            slots.state_of(HERE)


async def test_the_problem_names_the_first_slot_that_is_not_ready_and_how_many_there_are() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slots = await with_state(backing)
        before = slots.problem()
        cluster.write_foreign(state_log(1), Record(b"k", b"v"))
        cluster.refused_initializations.extend([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 100)

        # When
        ticket = slots.slot_of_group(THERE.group_id).submit(
            Initialize(key_of_slot(1, skip=1), StateEpoch(0), 0)
        )
        problems: list[str] = []
        ticket.on_done = lambda _: problems.append(slots.problem())
        await until(lambda: bool(problems))

        # Then
        assert before == ""
        reason = f"{STATE}-1: an append landed at offset 3, not 2"
        assert problems == [f"not ready: 1 of 2 slots; slot 1: {reason}"]
        counts = slots.counts()
        assert (counts["ready",], counts["claiming",], counts["stopped",]) == (1, 1, 0)
        assert set(counts) == {(state.value,) for state in SlotState}


async def test_a_drain_waits_until_all_that_was_submitted_is_durable() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slots = await backing.ready_slots()
        cluster.may_land.clear()
        before = len(cluster.produced())
        ticket = slots.slot_of_group(HERE.group_id).submit(Initialize(HERE, StateEpoch(0), 0))
        await until(lambda: len(cluster.produced()) == before + 1)

        # When
        draining = backing.tasks.spawn(slots.drain(10), name="a drain")
        await asyncio.wait([draining], timeout=0.05)
        was_done = draining.done()
        cluster.may_land.set()
        await draining

        # Then
        assert not was_done
        assert ticket.is_done


async def test_a_drain_of_what_cannot_become_durable_ends_in_time() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slots = await backing.ready_slots()
        cluster.may_land.clear()
        ticket = slots.slot_of_group(HERE.group_id).submit(Initialize(HERE, StateEpoch(0), 0))

        # When
        await slots.drain(0.05)

        # Then
        assert not ticket.is_done


async def test_slots_load_although_one_of_them_cannot() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        cluster.write_foreign(state_log(0), a_claim(), Record(b"\x00\x63what", b"?"))
        cluster.decree(Fate.LOST, state_log(1))
        topics = await backing.found()
        slots = backing.idle_slots(backing.claims(topics), topics.slot_count)

        # When
        await backing.fleet.join(slots, topics.slot_count)
        await until(lambda: slots.all()[1].is_ready and bool(slots.counts()["stopped",]))

        # Then
        assert slots.problem().startswith("not ready: 1 of 2 slots; slot 0: ")


# ---------------------------------------------------- loaded in turns


def all_claimed(cluster: ScriptedStateLog, count: int) -> bool:
    """Tell whether so many slots have a claim in both logs."""
    return all(cluster.records(log(slot)) for slot in range(count) for log in (state_log, groups_log))


async def test_slots_are_claimed_while_others_are_loaded_and_only_so_many_are_loaded_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster, state_count=20, groups_count=20)
        topics = await backing.found()
        claims = backing.claims(topics)
        honest, may_load, loading = claims.load, asyncio.Event(), []

        async def held(claimed: ClaimedSlot) -> LoadedSlot:
            loading.append(claimed.number)
            await may_load.wait()
            return await honest(claimed)

        monkeypatch.setattr(claims, "load", held)
        slots = backing.idle_slots(claims, topics.slot_count)
        await backing.fleet.join(slots, topics.slot_count)

        # When
        await until(lambda: all_claimed(cluster, 20) and len(loading) >= SLOTS_LOADED_AT_ONCE)
        await until_all_wait()
        loading_at_once = len(loading)
        may_load.set()
        await until(lambda: slots.problem() == "")

        # Then
        assert loading_at_once == SLOTS_LOADED_AT_ONCE
        assert sorted(loading) == list(range(20))


async def test_a_slot_that_somebody_waits_for_is_loaded_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster, state_count=20, groups_count=20)
        topics = await backing.found()
        claims = backing.claims(topics)
        honest, may_load, loading = claims.load, asyncio.Semaphore(0), []

        async def held(claimed: ClaimedSlot) -> LoadedSlot:
            loading.append(claimed.number)
            await may_load.acquire()
            return await honest(claimed)

        monkeypatch.setattr(claims, "load", held)
        slots = backing.idle_slots(claims, topics.slot_count)
        await backing.fleet.join(slots, topics.slot_count)
        await until(lambda: all_claimed(cluster, 20) and len(loading) == SLOTS_LOADED_AT_ONCE)
        wanted = next(slot for slot in reversed(slots.all()) if slot.number not in loading)

        # When
        waiting = backing.tasks.spawn(wanted.settled(10), name="a wait")
        await asyncio.sleep(0)
        may_load.release()
        await until(lambda: len(loading) == 1 + SLOTS_LOADED_AT_ONCE)

        # Then
        assert loading[-1] == wanted.number
        for _ in range(20):
            may_load.release()
        await waiting
        await until(lambda: slots.problem() == "")


# ---------------------------------------------------- what the fleet says


def states_of(slots: StateSlots) -> list[str]:
    """Return what the slots are in, by number."""
    return [slot.state.value for slot in slots.all()]


async def unassigned(backing: StateLogBacking) -> StateSlots:
    """Return slots of which the fleet said nothing."""
    return backing.idle_slots(backing.claims(await backing.found()), SLOT_COUNT)


async def test_before_the_fleet_says_who_owns_what_nothing_is_claimed(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # When
    slots = await unassigned(backing)
    await until_all_wait()

    # Then
    assert states_of(slots) == ["unassigned", "unassigned"]
    assert cluster.asked(ApiKey.INIT_PRODUCER_ID) == []
    assert slots.problem() == "not ready: 2 of 2 slots; slot 0: the fleet did not say yet who owns it"


async def test_what_is_gained_is_claimed_and_served_under_the_map_that_gave_it_and_nothing_else_is(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await unassigned(backing)

    # When
    slots.map_changed(map_with(ANOTHER, MYSELF), frozenset({1}))
    await slots.all()[1].settled(10)

    # Then
    assert states_of(slots) == ["elsewhere", "ready"]
    assert slots.problem() == ""
    assert slots.all()[0].reason == "kproxy at host-2 owns it"
    assert [cluster.producer_epoch(f"{STATE}-{slot}") for slot in (0, 1)] == [-1, 0]
    (claim,) = [
        found
        for record in cluster.records(groups_log(1))
        if isinstance(found := decode_group_record(record).record, Claim)
    ]
    assert (claim.map_epoch, claim.fleet_group) == (backing.fleet.map_epoch, FLEET)


async def test_who_waits_for_a_slot_that_is_gained_waits_until_it_is_served(backing: StateLogBacking) -> None:
    # Given
    slots = await unassigned(backing)
    waiting = backing.tasks.spawn(slots.all()[0].settled(10), name="a wait")
    await until_all_wait()

    # When
    slots.map_changed(map_with(MYSELF, MYSELF), frozenset({0, 1}))
    await waiting

    # Then
    assert slots.all()[0].is_ready


async def test_a_map_in_which_nothing_moves_leaves_what_is_served_alone(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await backing.ready_slots()

    # When
    slots.map_changed(map_with(MYSELF, MYSELF), frozenset())
    await until_all_wait()

    # Then
    assert states_of(slots) == ["ready", "ready"]
    assert cluster.producer_epoch(f"{STATE}-0") == 0


async def test_what_is_lost_is_left_at_once_and_what_waits_is_refused(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slots = await with_state(backing)
    cluster.may_land.clear()
    ticket = slots.slot_of_group(HERE.group_id).submit(Initialize(key_of_slot(0, skip=1), StateEpoch(0), 0))

    # When
    slots.slots_lost(frozenset({0}), "the map gives it to another")
    slots.map_changed(map_with(ANOTHER, MYSELF), frozenset())

    # Then
    assert type(ticket.refusal) is FencedLeaderEpoch
    assert states_of(slots) == ["elsewhere", "ready"]
    assert backing.listener.events[-1] == "lost 0"


async def test_a_slot_that_a_map_still_has_here_although_it_was_left_is_nobody_s_for_the_moment(
    backing: StateLogBacking,
) -> None:
    # Given
    slots = await backing.ready_slots()
    slots.slots_lost(frozenset({0}), "it was handed over")
    slots.map_changed(map_with(ANOTHER, MYSELF), frozenset())

    # When
    slots.map_changed(map_with(MYSELF, MYSELF), frozenset())

    # Then
    assert states_of(slots) == ["unassigned", "ready"]
    with pytest.raises(CoordinatorLoadInProgress, match="it is on the way to its next owner"):
        slots.all()[0].require_ready()


async def test_slots_that_are_abandoned_refuse_what_waits_and_say_why() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slots = await with_state(backing)
        cluster.may_land.clear()
        ticket = slots.slot_of_group(HERE.group_id).submit(
            Initialize(key_of_slot(0, skip=1), StateEpoch(0), 0)
        )

        # When
        slots.abandon("the topic was deleted")

        # Then
        assert isinstance(ticket.refusal, StateLogUnavailable)
        assert slots.problem() == "not ready: 2 of 2 slots; slot 0: the topic was deleted"
        assert sorted(backing.listener.events[-2:]) == ["lost 0", "lost 1"]


async def test_sessions_opened_while_nobody_had_a_slot_end_when_the_map_gives_it_to_another_process() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slots = await with_state(backing)
        slots.slots_lost(frozenset({0}), "the map gives it to another")
        backing.listener.left.clear()

        # When
        slots.map_changed(map_with(ANOTHER, MYSELF), frozenset())

        # Then
        assert backing.listener.left == [0]
