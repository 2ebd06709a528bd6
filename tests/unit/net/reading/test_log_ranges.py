"""Where logs begin and end that have lost the offsets asked for, as retention does to thousands of them at a time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from itertools import chain, repeat

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, PartitionData, PartitionRead
from kproxy.net.reading.log_ranges import LogRanges
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.list_offsets_request import ListOffsetsRequest
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse
from tests.event_loops import async_fixture
from tests.in_memory.answering_broker import Answer, Reply
from tests.in_memory.partition_reader_contract import extents
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing, never

PARTITIONS = 600


@pytest.fixture
def node_ids() -> Sequence[int]:
    return (1,)


@async_fixture
async def cluster(node_ids: Sequence[int]) -> AsyncIterator[ScriptedCluster]:
    """A cluster whose topic `orders` has 600 partitions; the first of two records is deleted in each."""
    async with ScriptedCluster(node_ids) as cluster:
        cluster.create_topic("orders", ORDERS, partition_count=PARTITIONS)
        for partition in range(PARTITIONS):
            log = cluster.log(ORDERS, partition)
            log.append([b"a"])
            log.append([b"b"])
            log.move_start(1)
        yield cluster


@async_fixture
async def backing(cluster: ScriptedCluster) -> AsyncIterator[Backing]:
    async with Backing(cluster.bootstrap_servers) as backing:
        yield backing


async def read_all(backing: Backing, *, offset: int = 0, count: int = PARTITIONS) -> Sequence[PartitionData]:
    reads = [PartitionRead(ORDERS, partition, offset, 100) for partition in range(count)]
    return await backing.reader.read(reads, max_bytes=1 << 20)


async def read_quietly(backing: Backing) -> None:
    await read_all(backing)


def asked(cluster: ScriptedCluster, node_id: int = 1) -> list[tuple[int, int]]:
    """Return of each ListOffsets that a broker saw its timestamp and how many partitions it named."""
    found = []
    for request in cluster.brokers[node_id].asked(ApiKey.LIST_OFFSETS):
        assert isinstance(request.message, ListOffsetsRequest)
        listed = [each for topic in request.message.topics for each in topic.partitions]
        found.append((listed[0].timestamp, len(listed)))
    return found


def answered(cluster: ScriptedCluster, first: Sequence[Answer]) -> None:
    """Let broker 1 answer ListOffsets with `first`, and then in earnest."""
    broker = cluster.brokers[1]
    answers = chain(first, repeat(broker.answers[ApiKey.LIST_OFFSETS]))

    def answer(request: DecodedRequest) -> Reply | Awaitable[Reply]:
        return next(answers)(request)

    broker.answers[ApiKey.LIST_OFFSETS] = answer


def told(results: Sequence[PartitionData]) -> set[tuple[ErrorCode, int, int, int]]:
    return {
        (data.error_code, data.log_start_offset, data.high_watermark, data.last_stable_offset)
        for data in results
    }


OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE
FOUND = (OUT_OF_RANGE, 1, 2, 2)
NOT_FOUND = ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_the_ranges_of_many_logs_are_asked_for_in_few_requests_the_beginnings_first(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # When
    results = await read_all(backing)

    # Then
    assert told(results) == {FOUND}
    beginnings = [(EARLIEST_TIMESTAMP, count) for count in (250, 250, 100)]
    assert asked(cluster) == beginnings + [(LATEST_TIMESTAMP, count) for _, count in beginnings]


@pytest.mark.parametrize("node_ids", [(1, 2)], ids=["two brokers"])
async def test_each_leader_is_asked_for_the_ranges_of_its_own_logs(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # When
    results = await read_all(backing)

    # Then
    assert told(results) == {FOUND}
    expected = [
        (EARLIEST_TIMESTAMP, 250),
        (EARLIEST_TIMESTAMP, 50),
        (LATEST_TIMESTAMP, 250),
        (LATEST_TIMESTAMP, 50),
    ]
    assert (asked(cluster, 1), asked(cluster, 2)) == (expected, expected)


async def test_somebody_elses_read_stands_behind_no_lookup_of_many_ranges(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    broker = cluster.brokers[1]
    broker.answers[ApiKey.LIST_OFFSETS] = never
    async with asyncio.TaskGroup() as readers:
        lookups = readers.create_task(read_all(backing))
        await broker.until_asked(ApiKey.LIST_OFFSETS)

        # When
        other = await backing.read_one(ORDERS, 0, 1)

        # Then
        assert (other.error_code, extents(other)) == (ErrorCode.NONE, [(1, 1)])
        assert asked(cluster) == [(EARLIEST_TIMESTAMP, 250)]
        lookups.cancel()


async def test_a_read_that_is_cancelled_asks_for_no_more_ranges(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    broker, may_answer = cluster.brokers[1], asyncio.Event()
    honest = broker.answers[ApiKey.LIST_OFFSETS]

    async def when_told(request: DecodedRequest) -> Reply:
        await may_answer.wait()
        reply = honest(request)
        assert isinstance(reply, ListOffsetsResponse)
        return reply

    broker.answers[ApiKey.LIST_OFFSETS] = when_told
    lookups = backing.tasks.spawn(read_quietly(backing), name="a read")
    await broker.until_asked(ApiKey.LIST_OFFSETS)

    # When
    lookups.cancel()
    await asyncio.wait([lookups])
    may_answer.set()
    later = await read_all(backing, count=1)

    # Then
    assert told(later) == {FOUND}
    assert asked(cluster) == [(EARLIEST_TIMESTAMP, 250), (EARLIEST_TIMESTAMP, 1), (LATEST_TIMESTAMP, 1)]


async def test_a_log_whose_range_its_leader_does_not_tell_spoils_no_other(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    def refuse_to_list(request: DecodedRequest) -> Reply:
        cluster.refuse(ORDERS, 7, ErrorCode.OFFSET_NOT_AVAILABLE)
        reply = honest(request)
        cluster.refuse(ORDERS, 7, ErrorCode.NONE)
        assert isinstance(reply, ListOffsetsResponse)
        return reply

    broker = cluster.brokers[1]
    honest = broker.answers[ApiKey.LIST_OFFSETS]
    broker.answers[ApiKey.LIST_OFFSETS] = refuse_to_list

    # When
    results = await read_all(backing)

    # Then
    assert results[7].error_code is NOT_FOUND
    assert told([data for data in results if data is not results[7]]) == {FOUND}
    assert (EARLIEST_TIMESTAMP, 1) in asked(cluster)  # it was asked about once more


@pytest.mark.parametrize("stage", [0, 3], ids=["the beginnings", "the ends"])
async def test_a_leader_that_breaks_off_is_asked_again_for_what_it_owes(
    stage: int, cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    honest = cluster.brokers[1].answers[ApiKey.LIST_OFFSETS]
    answered(cluster, [*repeat(honest, stage), lambda _: None])

    # When
    results = await read_all(backing)

    # Then
    assert told(results) == {FOUND}
    assert len(asked(cluster)) == 7


async def test_a_leader_that_answers_nothing_is_asked_twice_and_not_for_each_part(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = lambda _: None

    # When
    results = await read_all(backing)

    # Then
    assert {data.error_code for data in results} == {NOT_FOUND}
    assert asked(cluster) == [(EARLIEST_TIMESTAMP, 250)] * 2


async def test_what_was_found_before_a_leader_fell_silent_stays_found(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    honest = cluster.brokers[1].answers[ApiKey.LIST_OFFSETS]
    answered(cluster, [*repeat(honest, 4), *repeat(lambda _: None, 2)])

    # When
    results = await read_all(backing)

    # Then
    assert told(results[:250]) == {FOUND}
    assert {data.error_code for data in results[250:]} == {NOT_FOUND}


async def test_ranges_are_not_waited_for_without_an_end(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedCluster, backing: Backing
) -> None:
    monkeypatch.setattr("kproxy.net.reading.log_ranges.FOUND_WITHIN_MS", 50)

    # Given
    cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = never

    # When
    results = await read_all(backing)

    # Then
    assert {data.error_code for data in results} == {NOT_FOUND}


async def test_what_the_leader_has_told_already_is_not_asked_for(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    read, lost = PartitionRead(ORDERS, 0, 0, 100), PartitionData(OUT_OF_RANGE, memoryview(b""), -1, -1, 1)
    await backing.metadata.topics_named(["orders"])
    ranges = LogRanges(metadata=backing.metadata, connections=backing.connections)

    # When
    await ranges.fill_in([read], [lost])

    # Then
    assert told([lost]) == {FOUND}
    assert asked(cluster) == [(LATEST_TIMESTAMP, 1)]
