"""Two processes that take themselves for the owner: the one that knows the newer map serves, the other one leaves."""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress

import pytest

from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
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
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.worlds.slot_allocations import FLEET
from tests.worlds.state_log_process import HERE, THERE, Process, begun
from tests.worlds.state_logs import (
    StateLogBacking,
    alarms,
    create_state_topics,
    groups_log,
    state_log,
)
from tests.worlds.waiting import until

LEFT, SERVED = {"elsewhere": 2}, {"ready": 2}


def owners(cluster: ScriptedStateLog) -> list[str]:
    """Return who claimed slot 0, in order."""
    decoded = [decode_state_record(record).record for record in cluster.records(state_log())]
    return [record.owner.partition(" (")[0] for record in decoded if isinstance(record, Claim)]


async def test_of_two_processes_the_older_one_leaves_before_it_answers_and_the_newer_one_serves_on() -> None:
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
        await until(lambda: older.states() == LEFT)

        # Then
        assert type(refusals[0]) is FencedLeaderEpoch
        assert type(refusals[1]) in {FencedLeaderEpoch, NotCoordinator}, "it may have left this one by itself"
        assert [await newer.acknowledge(key, 2) for key in (HERE, THERE)] == [None, None]
        assert (older.states(), newer.states()) == (LEFT, SERVED)
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
        await until(lambda: older.states() == LEFT)
        assert newer.states() == SERVED
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
        await until(lambda: older.states() == LEFT)

        # Then
        assert type(refusal) is StateLogUnavailable
        assert older.states() == LEFT
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
        await until(lambda: older.states() == LEFT and newer.states() == SERVED)

        # Then
        assert [type(refusal) for refusal in refusals] == [StateLogUnavailable] * 2
        assert (older.states(), newer.states()) == (LEFT, SERVED)
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
        await until(lambda: older.states() == LEFT)

        # Then
        assert (older.states(), newer.states()) == (LEFT, SERVED)


async def test_a_process_that_was_outrun_by_one_that_knew_only_an_older_map_takes_the_slot_back(
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
        await two.claims(await two.found(), owner="a latecomer").claim(1, 0, FLEET)

        # When
        refusal = await owner.acknowledge(THERE, 1)
        await until(lambda: owner.states() == SERVED)

        # Then
        assert type(refusal) is FencedLeaderEpoch
        assert owner.states() == SERVED
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
async def test_of_two_processes_that_start_at_the_same_time_the_one_with_the_newer_map_serves_in_the_end(
    first: int, misfortunes: Sequence[tuple[Fate, TopicIdPartition]]
) -> None:
    async with (
        ScriptedStateLog() as cluster,
        StateLogBacking(cluster) as one,
        StateLogBacking(cluster) as two,
    ):
        # Given
        create_state_topics(cluster)
        older, newer = Process(one, "older"), Process(two, "newer")
        for fate, partition in misfortunes:
            cluster.decree(fate, partition)
        cluster.before_init_producer_id = lambda _: cluster.land_late()

        # When
        for process in (older, newer) if first == 0 else (newer, older):
            process.service.start()
        async with asyncio.timeout(20):
            while not all(process.service.slots for process in (older, newer)) or (
                (older.states(), newer.states()) != (LEFT, SERVED)
            ):
                for process in (older, newer):
                    for key in (HERE, THERE):
                        await attempt(process, key)
                await asyncio.sleep(0.01)

        # Then
        wanted = [PartitionInitialization(key, StateEpoch(0), 0) for key in (HERE, THERE)]
        async with asyncio.timeout(20):
            # A claim that the older one had on its way when it lost may land now: the newer one claims again.
            while failed := await newer.service.states.initialize(wanted):
                assert all(isinstance(each, RETRIABLE) for each in failed.values())
        assert older.states() == LEFT


OFFSETS = itertools.count()
RETRIABLE = (FencedLeaderEpoch, CoordinatorLoadInProgress, StateLogUnavailable)
"""What a slot says that another process had claimed a moment ago."""


async def attempt(process: Process, key: SharePartitionKey) -> None:
    """Write something, if the process serves: whoever was overtaken learns it so, where no fleet tells."""
    with suppress(ApiError):
        await process.service.states.initialize([PartitionInitialization(key, StateEpoch(0), 0)])
    await process.acknowledge(key, next(OFFSETS))
