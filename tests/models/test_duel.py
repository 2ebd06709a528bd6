"""Two processes that own the same slots: the one that claimed last serves, the other one steps down and stays down."""

import asyncio
import itertools
from collections.abc import Awaitable, Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.errors import (
    ApiError,
    FencedLeaderEpoch,
    NotCoordinator,
    StateLogUnavailable,
)
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import SharePartitionKey, StateEpoch, TopicIdPartition
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.claims import Claim
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from tests.event_loops import run
from tests.in_memory.answering_broker import Answer, Reply
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.worlds.state_log_process import HERE, THERE, Process, begun
from tests.worlds.state_logs import (
    SLOT_COUNT,
    StateLogBacking,
    alarms,
    create_state_topics,
    groups_log,
    state_log,
)
from tests.worlds.waiting import until


def owners(cluster: ScriptedStateLog) -> list[str]:
    """Return who claimed slot 0, in order."""
    decoded = [decode_state_record(record).record for record in cluster.records(state_log())]
    return [record.owner.partition(" (")[0] for record in decoded if isinstance(record, Claim)]


def is_settled(processes: list[Process]) -> bool:
    """Tell whether every slot of every process either serves or was given up."""
    for process in processes:
        slots = process.service.slots
        if slots is None or any(status.state.value in {"claiming", "loading"} for status in slots.statuses()):
            return False
    return True


async def test_of_two_processes_the_older_one_steps_down_before_it_answers_and_the_newer_one_serves_on() -> (
    None
):
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        older = await begun(await Process(one, "older").serves())
        newer = await Process(two, "newer").serves()

        # When
        refusals = [await older.acknowledge(key, 1) for key in (HERE, THERE)]

        # Then
        assert [type(refusal) for refusal in refusals] == [FencedLeaderEpoch, NotCoordinator]
        assert [await newer.acknowledge(key, 2) for key in (HERE, THERE)] == [None] * SLOT_COUNT
        assert (older.states(), newer.states()) == ({"stepped-down": 2}, {"ready": 2})
        assert owners(cluster) == ["older", "newer"]
        state = await newer.service.states.load(HERE)
        assert state is not None
        assert state.state_batches == (StateBatch(2, 2, RecordState.ACKNOWLEDGED, 1),)
        with pytest.raises(NotCoordinator):
            older.service.groups.require_ready("workers")


async def test_a_batch_that_the_older_process_had_sent_before_the_newer_one_claimed_comes_too_late() -> None:
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        older = await begun(await Process(one, "older").serves())
        cluster.decree(Fate.HELD, state_log())
        before = len(cluster.produced())
        refusals: list[ApiError | None] = []

        async def acknowledge() -> None:
            refusals.append(await older.acknowledge(HERE, 1))

        held = one.tasks.spawn(acknowledge(), name="an acknowledgement")
        await until(lambda: len(cluster.produced()) == before + 1)
        newer = await Process(two, "newer").serves()
        assert await newer.acknowledge(HERE, 2) is None

        # When
        cluster.release_held.set()
        await held

        # Then
        assert [type(refusal) for refusal in refusals] == [FencedLeaderEpoch]
        assert older.states() == {"stepped-down": 2}
        assert newer.states() == {"ready": 2}
        state = await newer.service.states.read_summary(HERE)
        assert state is not None
        assert state.state_batches == (StateBatch(2, 2, RecordState.ACKNOWLEDGED, 1),)


async def test_whoever_does_not_know_what_became_of_its_batch_does_not_take_the_slot_back_from_a_newer_one() -> (
    None
):
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        older = await begun(await Process(one, "older").serves())
        newer = await Process(two, "newer").serves()
        cluster.decree(Fate.LOST, state_log())

        # When
        refusal = await older.acknowledge(HERE, 1)
        await until(lambda: is_settled([older]))

        # Then
        assert type(refusal) is StateLogUnavailable
        assert older.states() == {"stepped-down": 2}
        assert await newer.acknowledge(HERE, 2) is None
        assert owners(cluster) == ["older", "newer"]


async def test_whoever_takes_over_after_the_transactional_id_expired_is_the_one_that_is_left() -> None:
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        older = await begun(await Process(one, "older").serves())
        cluster.expire_transactional_ids()
        newer = await Process(two, "newer").serves()

        # When
        refusals = [await process.acknowledge(HERE, 1) for process in (older, newer)]
        await until(lambda: is_settled([older, newer]))

        # Then
        assert [type(refusal) for refusal in refusals] == [StateLogUnavailable] * 2
        assert (older.states(), newer.states()) == ({"stepped-down": 2}, {"ready": 2})
        assert await newer.acknowledge(HERE, 2) is None


async def test_two_containers_with_one_host_name_and_one_process_id_are_two_processes() -> None:
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        older = await begun(await Process(one, "kproxy process 1 on proxy").serves())
        newer = await Process(two, "kproxy process 1 on proxy").serves()
        cluster.decree(Fate.LOST, state_log())

        # When
        await older.acknowledge(HERE, 1)
        await until(lambda: is_settled([older]))

        # Then
        assert (older.states(), newer.states()) == ({"stepped-down": 2}, {"ready": 2})


async def test_a_process_that_lost_a_slot_to_one_that_lost_them_all_takes_it_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        owner = await begun(await Process(one, "owner").serves())
        await two.claims(await two.found(), owner="a loser").claim(1, EPOCH, FLEET)

        # When
        refusal = await owner.acknowledge(THERE, 1)
        await until(lambda: is_settled([owner]))

        # Then
        assert type(refusal) is FencedLeaderEpoch
        assert owner.states() == {"ready": 2}
        assert await owner.acknowledge(THERE, 1) is None
    assert alarms(caplog) == []


MISFORTUNES: Sequence[tuple[tuple[Fate, TopicIdPartition], ...]] = (
    (),
    ((Fate.LANDS_UNANSWERED, state_log(1)),),
    ((Fate.LOST, groups_log(0)),),
    ((Fate.LATE, groups_log(1)),),
    ((Fate.LANDS_UNANSWERED, groups_log(0)), (Fate.LOST, state_log(0)), (Fate.LATE, state_log(1))),
)
"""Appends that end badly, in the order in which they come."""


@pytest.mark.parametrize("misfortunes", MISFORTUNES)
@pytest.mark.parametrize("first", [0, 1])
async def test_of_two_processes_that_start_at_the_same_time_exactly_one_serves_each_slot(
    first: int, misfortunes: Sequence[tuple[Fate, TopicIdPartition]]
) -> None:
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        processes = [Process(one, "one"), Process(two, "two")]
        processes = processes[first:] + processes[:first]
        for fate, partition in misfortunes:
            cluster.decree(fate, partition)
        cluster.before_init_producer_id = lambda _: cluster.land_late()

        # When
        for process in processes:
            process.service.start()
        await until(lambda: is_settled(processes))
        for process in processes:
            await process.service.drain(10)
        wanted = [PartitionInitialization(key, StateEpoch(0), 0) for key in (HERE, THERE)]
        refusals = [await process.service.states.initialize(wanted) for process in processes]

        # Then
        for key in (HERE, THERE):
            assert sum(1 for each in refusals if key not in each) == 1, refusals


# ---------------------------------------------------- any order


OFFSETS = itertools.count()


class Pace:
    """Lets the brokers answer InitProducerId and Produce after pauses that hypothesis chose."""

    def __init__(self, cluster: ScriptedStateLog, pauses: Sequence[int]) -> None:
        self._pauses = iter(pauses)
        for broker in cluster.brokers.values():
            for api_key in (ApiKey.INIT_PRODUCER_ID, ApiKey.PRODUCE):
                broker.answers[api_key] = self._slowed(broker.answers[api_key])

    def _slowed(self, answer: Answer) -> Answer:
        async def after_a_pause(request: DecodedRequest) -> Reply:
            await asyncio.sleep(next(self._pauses, 0) / 1000)
            answered = answer(request)
            return await answered if isinstance(answered, Awaitable) else answered

        return after_a_pause


@given(
    pauses=st.lists(st.integers(0, 6), max_size=40),
    head_start=st.integers(0, 20),
    do_ids_expire=st.booleans(),
    writers=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=6),
)
@settings(max_examples=25, deadline=None)
def test_of_two_processes_that_start_in_any_order_one_owns_everything_in_the_end(
    *, pauses: list[int], head_start: int, do_ids_expire: bool, writers: list[tuple[int, int]]
) -> None:
    async def scenario() -> None:
        async with (
            ScriptedStateLog() as cluster,
            StateLogBacking(cluster) as one,
            StateLogBacking(cluster) as two,
        ):
            # Given
            create_state_topics(cluster)
            Pace(cluster, pauses)
            processes = [Process(one, "one"), Process(two, "two")]
            processes[0].service.start()
            await asyncio.sleep(head_start / 1000)
            if do_ids_expire:
                cluster.expire_transactional_ids()
            processes[1].service.start()

            # When
            for number, slot in writers:
                await attempt(processes[number], (HERE, THERE)[slot])
            await until(lambda: is_settled(processes))
            for _ in range(4):
                for process in processes:
                    for key in (HERE, THERE):
                        await attempt(process, key)
                await until(lambda: is_settled(processes))

            # Then
            ends = sorted(str(process.states()) for process in processes)
            assert ends == ["{'ready': 2}", "{'stepped-down': 2}"]

    run(scenario())


async def attempt(process: Process, key: SharePartitionKey) -> None:
    """Write something, if the process serves."""
    with suppress(ApiError):
        await process.service.states.initialize([PartitionInitialization(key, StateEpoch(0), 0)])
    with suppress(ApiError):
        await process.acknowledge(key, next(OFFSETS))
