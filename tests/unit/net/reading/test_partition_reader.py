import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import PartitionRead
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tests.event_loops import BOTH_LOOPS, async_fixture
from tests.in_memory.answering_broker import Reply
from tests.in_memory.partition_reader_contract import PARTITION_READER_CONTRACT, ReaderWorld, extents
from tests.in_memory.record_batch_bytes import record_batch
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.unit.net.contract_worlds import DoubleReaderWorld, ScriptedReaderWorld
from tests.worlds.backing import ORDERS, PAYMENTS, Backing, never

NEW_ORDERS = TopicId(b"topic-id-orders2")
BY_ID = (4, 17)
BY_NAME = (4, 12)


@pytest.mark.parametrize("clause", PARTITION_READER_CONTRACT)
async def test_the_double_keeps_the_contract(clause: Callable[[ReaderWorld], Awaitable[None]]) -> None:
    await clause(DoubleReaderWorld())


@pytest.mark.parametrize("fetch_versions", [BY_ID, BY_NAME])
@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
@pytest.mark.parametrize("clause", PARTITION_READER_CONTRACT)
async def test_the_reader_keeps_the_contract(
    clause: Callable[[ReaderWorld], Awaitable[None]], fetch_versions: tuple[int, int]
) -> None:
    async with (
        ScriptedCluster(fetch_versions=fetch_versions) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await clause(ScriptedReaderWorld(cluster, backing))


@pytest.fixture
def node_ids() -> Sequence[int]:
    return (1,)


@pytest.fixture
def fetch_versions() -> tuple[int, int]:
    return BY_ID


@async_fixture
async def cluster(node_ids: Sequence[int], fetch_versions: tuple[int, int]) -> AsyncIterator[ScriptedCluster]:
    """A cluster whose topic `orders` has a partition per broker and one record in each."""
    async with ScriptedCluster(node_ids, fetch_versions=fetch_versions) as cluster:
        cluster.create_topic("orders", ORDERS, partition_count=len(node_ids))
        for partition in range(len(node_ids)):
            cluster.log(ORDERS, partition).append([b"a"])
        yield cluster


@async_fixture
async def backing(cluster: ScriptedCluster) -> AsyncIterator[Backing]:
    async with Backing(cluster.bootstrap_servers) as backing:
        yield backing


def fetches(cluster: ScriptedCluster, node_id: int = 1) -> list[FetchRequest]:
    messages = [request.message for request in cluster.brokers[node_id].asked(ApiKey.FETCH)]
    return [message for message in messages if isinstance(message, FetchRequest)]


async def test_a_fetch_has_no_session_does_not_wait_and_carries_the_leader_epoch(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.lead(ORDERS, 0, 1)

    # When
    await backing.read_one(ORDERS, 0, 0, max_bytes=1234)

    # Then
    (request,) = fetches(cluster)
    assert (request.session_id, request.session_epoch) == (0, -1)
    assert (request.max_wait_ms, request.max_bytes, request.isolation_level) == (0, 1234, 0)
    partition = request.topics[0].partitions[0]
    assert (partition.current_leader_epoch, partition.partition_max_bytes) == (1, 1234)


@pytest.mark.parametrize("node_ids", [(1, 2, 3)], ids=["two brokers"])
async def test_each_leader_gets_one_fetch_with_its_share_of_the_bytes(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # When
    reads = [PartitionRead(ORDERS, partition, 0, 500) for partition in (1, 0, 2)]
    results = await backing.reader.read(reads, max_bytes=900)

    # Then
    assert [extents(data) for data in results] == [[(0, 0)]] * 3
    for node_id in (1, 2, 3):
        assert [request.max_bytes for request in fetches(cluster, node_id)] == [300]


async def test_two_groups_at_different_offsets_of_one_partition_read_in_two_requests(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    for _ in range(9):
        cluster.log(ORDERS, 0).append([b"a"])

    # When
    early, late = await asyncio.gather(backing.read_one(ORDERS, 0, 2), backing.read_one(ORDERS, 0, 7))

    # Then
    assert (extents(early)[0], extents(late)[0]) == ((2, 2), (7, 7))
    assert len(fetches(cluster)) == 2


async def test_records_are_a_view_of_the_response_and_not_a_copy(backing: Backing) -> None:
    data = await backing.read_one(ORDERS, 0, 0)
    owner = data.records.obj
    assert isinstance(owner, bytes | bytearray)
    assert len(owner) > len(data.records)


@pytest.mark.parametrize("node_ids", [(1, 2)], ids=["two brokers"])
async def test_a_partition_whose_leader_moved_is_read_from_the_new_one(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    await backing.read_one(ORDERS, 0, 0)
    cluster.lead(ORDERS, 0, 2)

    # When
    data = await backing.read_one(ORDERS, 0, 0)

    # Then
    assert (data.error_code, extents(data)) == (ErrorCode.NONE, [(0, 0)])
    assert len(fetches(cluster, 2)) == 1


async def test_a_leader_epoch_that_was_fenced_is_looked_up_anew(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    await backing.read_one(ORDERS, 0, 0)
    cluster.lead(ORDERS, 0, 1)

    # When
    data = await backing.read_one(ORDERS, 0, 0)

    # Then
    assert data.error_code is ErrorCode.NONE
    epochs = [request.topics[0].partitions[0].current_leader_epoch for request in fetches(cluster)]
    assert epochs == [0, 0, 1]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR),
        (ErrorCode.INCONSISTENT_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
async def test_a_leader_that_goes_on_disowning_is_asked_twice_and_then_told(
    said: ErrorCode, told: ErrorCode, cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.refuse(ORDERS, 0, said)

    # When
    data = await backing.read_one(ORDERS, 0, 0)

    # Then
    assert (data.error_code, len(data.records)) == (told, 0)
    assert len(fetches(cluster)) == 2


@pytest.mark.parametrize("node_ids", [(1, 2)], ids=["two brokers"])
async def test_what_is_read_again_gets_the_bytes_that_are_left(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    await backing.metadata.topics_named(["orders"])
    cluster.lead(ORDERS, 1, 1)

    # When
    reads = [PartitionRead(ORDERS, partition, 0, 500) for partition in (0, 1)]
    first, second = await backing.reader.read(reads, max_bytes=1000)

    # Then
    assert (extents(first), extents(second)) == ([(0, 0)], [(0, 0)])
    assert [request.max_bytes for request in fetches(cluster)] == [500, 1000 - len(first.records)]


async def test_an_error_that_no_lookup_can_mend_is_told_at_once(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.refuse(ORDERS, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    # When
    data = await backing.read_one(ORDERS, 0, 0)

    # Then
    assert data.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert len(fetches(cluster)) == 1


@pytest.mark.parametrize("node_ids", [(1, 2)], ids=["two brokers"])
async def test_a_partition_whose_broker_is_away_does_not_spoil_the_others(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    await backing.metadata.topics_named(["orders"])
    await cluster.brokers[2].stop()

    # When
    reads = [PartitionRead(ORDERS, partition, 0, 500) for partition in (0, 1)]
    there, away = await backing.reader.read(reads, max_bytes=1000)

    # Then
    assert (there.error_code, extents(there)) == (ErrorCode.NONE, [(0, 0)])
    assert (away.error_code, len(away.records)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)
    await cluster.brokers[2].start()


async def test_a_read_does_not_wait_behind_one_that_the_broker_is_slow_to_answer(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    broker = cluster.brokers[1]
    honest = broker.answers[ApiKey.FETCH]
    broker.answers[ApiKey.FETCH] = never
    async with asyncio.TaskGroup() as readers:
        slow = readers.create_task(backing.read_one(ORDERS, 0, 0))
        await broker.until_asked(ApiKey.FETCH)
        broker.answers[ApiKey.FETCH] = honest

        # When
        quick = await backing.read_one(ORDERS, 0, 0)

        # Then
        assert extents(quick) == [(0, 0)]
        assert not slow.done()
        slow.cancel()


@pytest.mark.parametrize(
    ("topic_id", "partition", "told"),
    [(PAYMENTS, 0, ErrorCode.UNKNOWN_TOPIC_ID), (ORDERS, 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
)
async def test_what_does_not_exist_is_unknown(
    topic_id: TopicId, partition: int, told: ErrorCode, cluster: ScriptedCluster, backing: Backing
) -> None:
    assert (await backing.read_one(topic_id, partition, 0)).error_code is told
    assert fetches(cluster) == []


async def test_nothing_is_known_of_a_topic_while_the_cluster_is_away(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    await cluster.brokers[1].stop()

    # When
    data = await backing.read_one(PAYMENTS, 0, 0)

    # Then
    assert data.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    await cluster.brokers[1].start()


@pytest.mark.parametrize("fetch_versions", [BY_ID, BY_NAME])
async def test_a_topic_created_anew_is_not_taken_for_the_old_one(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedCluster, backing: Backing
) -> None:
    monkeypatch.setattr("kproxy.net.reading.partition_reader.NAME_TRUSTED_FOR_MS", 0)

    # Given
    await backing.read_one(ORDERS, 0, 0)
    cluster.create_topic("orders", NEW_ORDERS)
    cluster.log(NEW_ORDERS, 0).append([b"not yours"])

    # When
    old = await backing.read_one(ORDERS, 0, 0)
    new = await backing.read_one(NEW_ORDERS, 0, 0)

    # Then
    assert (old.error_code, len(old.records)) == (ErrorCode.UNKNOWN_TOPIC_ID, 0)
    assert (new.error_code, extents(new)) == (ErrorCode.NONE, [(0, 0)])


async def test_a_leader_without_a_word_on_a_partition_is_one_that_does_not_have_it(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.brokers[1].answers[ApiKey.FETCH] = lambda _: FetchResponse()

    # When
    data = await backing.read_one(ORDERS, 0, 0)

    # Then
    assert data.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def records_answered(cluster: ScriptedCluster, records: bytes) -> None:
    def answer(_: DecodedRequest) -> Reply:
        partition = PartitionData(high_watermark=9, last_stable_offset=9, log_start_offset=0, records=records)
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=ORDERS, partitions=[partition])])

    cluster.brokers[1].answers[ApiKey.FETCH] = answer


@pytest.mark.parametrize("cut", [1, 40, 61, 70])
async def test_a_batch_that_the_broker_cut_off_is_no_batch(
    cut: int, cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    whole, second = record_batch(0, [b"abc"]), record_batch(1, [b"defg"])
    records_answered(cluster, whole + second[:-cut])

    # When
    data = await backing.read_one(ORDERS, 0, 0)

    # Then
    assert extents(data) == [(0, 0)]


FIRST, SECOND = record_batch(0, [b"abc"]), record_batch(1, [b"abc"])
OLD = FIRST[:16] + b"\x01" + FIRST[17:]


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (FIRST[:-1], (ErrorCode.NONE, 0)),
        (FIRST[:1], (ErrorCode.NONE, 0)),
        (OLD, (ErrorCode.CORRUPT_MESSAGE, 0)),
        (FIRST + SECOND + OLD, (ErrorCode.NONE, 3 * len(FIRST))),
    ],
    ids=["cut off", "cut off at once", "not of version 2", "not of version 2 behind others"],
)
async def test_records_are_judged_by_the_first_batch_alone(
    records: bytes, told: tuple[ErrorCode, int], cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    records_answered(cluster, records)

    # When
    data = await backing.read_one(ORDERS, 0, 0)

    # Then
    assert (data.error_code, len(data.records)) == told


async def test_a_range_that_cannot_be_found_out_is_a_leader_to_ask_again(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = lambda _: None

    # When
    data = await backing.read_one(ORDERS, 0, 99)

    # Then
    assert data.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_reading_nothing_asks_nobody(cluster: ScriptedCluster, backing: Backing) -> None:
    assert await backing.reader.read([], max_bytes=100) == []
    assert fetches(cluster) == []
