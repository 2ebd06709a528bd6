"""All slots together: who holds what, how far they are, and when nothing waits any more."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, BrokerUnavailable, NotCoordinator, StateLogUnavailable
from kproxy.net.state_log.loading import ClaimedSlot, LoadedSlot
from kproxy.net.state_log.slots import SLOTS_LOADED_AT_ONCE, StateSlots
from kproxy.share.identifiers import StateEpoch
from kproxy.statelog.operations import Initialize
from kproxy.statelog.slot_status import SlotState
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.in_memory.written_log import a_claim
from tests.worlds.state_logs import STATE, StateLogBacking, create_state_topics, key_of_slot, state_log
from tests.worlds.waiting import until

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
        slots.start(backing.tasks)
        await until(lambda: slots.all()[1].is_ready and bool(slots.counts()["stopped",]))

        # Then
        assert slots.problem().startswith("not ready: 1 of 2 slots; slot 0: ")


# ---------------------------------------------------- owned together


async def test_no_slot_is_claimed_before_the_one_that_decides_about_all() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        asked: list[str] = []
        cluster.before_init_producer_id = asked.append
        cluster.refused_initializations.extend([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3)

        # When
        await backing.ready_slots()

        # Then
        assert asked == [f"{STATE}-0", f"{STATE}-1"]
        assert cluster.producer_epoch(f"{STATE}-0") == 0


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
        slots.start(backing.tasks)

        # When
        await asyncio.gather(*(slot.claimed() for slot in slots.all()))
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
        slots.start(backing.tasks)
        may_load.release()  # for the deciding slot
        await asyncio.gather(*(slot.claimed() for slot in slots.all()))
        await until(lambda: len(loading) == 1 + SLOTS_LOADED_AT_ONCE)
        wanted = next(slot for slot in reversed(slots.all()) if slot.number not in loading)

        # When
        waiting = backing.tasks.spawn(wanted.settled(10), name="a wait")
        await asyncio.sleep(0)
        may_load.release()
        await until(lambda: len(loading) == 2 + SLOTS_LOADED_AT_ONCE)

        # Then
        assert loading[-1] == wanted.number
        for _ in range(20):
            may_load.release()
        await waiting
        await until(lambda: slots.problem() == "")


async def test_when_the_slot_that_decides_is_lost_while_it_is_claimed_no_other_is_claimed() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        cluster.refuse_append(state_log(0), ErrorCode.INVALID_PRODUCER_EPOCH)
        topics = await backing.found()
        slots = backing.idle_slots(backing.claims(topics), topics.slot_count)

        # When
        slots.start(backing.tasks)
        await until(lambda: slots.counts()["stepped-down",] == len(slots))

        # Then
        with pytest.raises(NotCoordinator):
            slots.slot_of_group(THERE.group_id).require_ready()
        assert cluster.producer_epoch(f"{STATE}-1") == -1


async def test_whoever_has_nothing_to_write_sees_that_it_was_overtaken_when_it_looks() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slots = await with_state(backing)
        await slots.require_owned()
        before = slots.problem()
        await backing.claims(await backing.found(), owner="kproxy at host-2").claim(0, EPOCH, FLEET)

        # When
        await slots.require_owned()

        # Then
        assert before == ""
        assert slots.counts()["stepped-down",] == 2
        assert sorted(backing.listener.events[-2:]) == ["lost 0", "lost 1"]


async def test_whether_slots_are_owned_is_not_guessed_when_nobody_answers() -> None:
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        # Given
        create_state_topics(cluster)
        slots = await with_state(backing)
        cluster.refuse(state_log().topic_id, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)

        # When
        with pytest.raises(BrokerUnavailable):
            await slots.require_owned()

        # Then
        assert slots.problem() == ""


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
