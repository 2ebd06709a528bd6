import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.reading.fetch_topics import FetchEntry
from kproxy.net.reading.tail import BrokerTail
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse
from tests.event_loops import BOTH_LOOPS, async_fixture
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, PAYMENTS, Backing


def key(partition: int) -> TopicIdPartition:
    return TopicIdPartition(ORDERS, partition)


def entry(partition: int, fetch_offset: int = 0, *, leader_epoch: int = 0) -> FetchEntry:
    return FetchEntry(ORDERS, "orders", partition, fetch_offset, leader_epoch, max_bytes=1)


class Listening:
    """A tail of broker 1, and what it said. It moves on by itself, as `ShareAvailability` makes it."""

    def __init__(self, backing: Backing) -> None:
        self.said: asyncio.Queue[tuple[str, int, int]] = asyncio.Queue()
        self.tail = BrokerTail(1, connections=backing.connections, clock=backing.clock, listener=self)
        backing.tasks.spawn(self.tail.run(), name="tail")

    def watch(self, partition: int, fetch_offset: int = 0) -> None:
        self.tail.put(entry(partition, fetch_offset))
        self.tail.set_awaited(key(partition), is_awaited=True)

    def heard(self, tail: BrokerTail, topic_partition: TopicIdPartition, high_watermark: int) -> None:
        assert tail is self.tail
        tail.put(entry(topic_partition.partition, high_watermark))
        self.said.put_nowait(("heard", topic_partition.partition, high_watermark))

    def refused(self, tail: BrokerTail, topic_partition: TopicIdPartition, error_code: ErrorCode) -> None:
        assert tail is self.tail
        self.said.put_nowait(("refused", topic_partition.partition, error_code))

    def lost(self, tail: BrokerTail) -> None:
        assert tail is self.tail
        self.said.put_nowait(("lost", -1, -1))

    async def until_said(self, *expected: tuple[str, int, int]) -> None:
        """Return when all of `expected` have been said; other things may be said before."""
        missing = set(expected)
        async with asyncio.timeout(10):
            while missing:
                missing.discard(await self.said.get())


def polls(cluster: ScriptedCluster) -> list[FetchRequest]:
    messages = [request.message for request in cluster.asked(ApiKey.FETCH)]
    return [message for message in messages if isinstance(message, FetchRequest)]


@pytest.fixture
def partition_count() -> int:
    return 3


@pytest.fixture
def fetch_versions() -> tuple[int, int]:
    return (4, 17)


@async_fixture
async def cluster(partition_count: int, fetch_versions: tuple[int, int]) -> AsyncIterator[ScriptedCluster]:
    async with ScriptedCluster(fetch_versions=fetch_versions) as cluster:
        cluster.create_topic("orders", ORDERS, partition_count=partition_count)
        yield cluster


@async_fixture
async def backing(cluster: ScriptedCluster) -> AsyncIterator[Backing]:
    """What knows of the topic `orders`."""
    async with Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.topics_named(["orders"])
        yield backing


@async_fixture
async def listening(backing: Backing) -> AsyncIterator[Listening]:
    yield Listening(backing)


@pytest.mark.parametrize("fetch_versions", [(4, 17), (4, 12)])
@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_record_is_heard_of_while_the_poll_is_out(
    cluster: ScriptedCluster, listening: Listening
) -> None:
    # Given
    listening.watch(0)
    listening.watch(1)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)

    # When
    await cluster.append(ORDERS, 1, [b"a", b"b"])

    # Then
    await listening.until_said(("heard", 1, 2))


async def test_a_poll_waits_a_while_and_asks_for_next_to_nothing(
    cluster: ScriptedCluster, listening: Listening
) -> None:
    # When
    listening.watch(0)

    # Then
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    (poll,) = polls(cluster)
    assert (poll.max_wait_ms, poll.min_bytes, poll.max_bytes) == (250, 1, 1)
    assert poll.topics[0].partitions[0].partition_max_bytes == 1


async def test_polls_after_the_first_are_incremental(cluster: ScriptedCluster, listening: Listening) -> None:
    # Given
    listening.watch(0)
    listening.watch(1)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)

    # When
    await cluster.append(ORDERS, 1, [b"a"])
    await cluster.brokers[1].until_asked(ApiKey.FETCH, 2)

    # Then
    first, second = polls(cluster)
    assert (first.session_id, first.session_epoch) == (0, 0)
    assert (second.session_id, second.session_epoch) == (1, 1)
    changed = {part.partition: part.fetch_offset for topic in second.topics for part in topic.partitions}
    assert changed == {1: 1}


@pytest.mark.parametrize("partition_count", [101])
async def test_a_silent_partition_among_a_hundred_busy_ones_is_heard_of(
    cluster: ScriptedCluster, listening: Listening
) -> None:
    # Given
    for partition in range(101):
        listening.watch(partition)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    for _round in range(3):
        for partition in range(100):
            cluster.log(ORDERS, partition).append([b"x" * 100])
        await cluster.wake_polls()
    await listening.until_said(*(("heard", partition, 3) for partition in range(100)))

    # When
    await cluster.append(ORDERS, 100, [b"at last"])

    # Then
    await listening.until_said(("heard", 100, 1))


async def test_a_partition_watched_while_a_poll_is_out_is_in_the_next_one(
    cluster: ScriptedCluster, listening: Listening, backing: Backing
) -> None:
    # Given
    listening.watch(0)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    began_ms = backing.clock.now_ms()

    # When
    listening.watch(1)
    await cluster.append(ORDERS, 1, [b"a"])

    # Then
    await listening.until_said(("heard", 1, 1))
    assert backing.clock.now_ms() - began_ms < 1000
    assert len(polls(cluster)) == 2


async def test_nothing_is_asked_while_nobody_waits(
    cluster: ScriptedCluster, listening: Listening, backing: Backing
) -> None:
    # Given
    listening.watch(0)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    listening.tail.set_awaited(key(0), is_awaited=False)
    await cluster.append(ORDERS, 0, [b"a"])
    await listening.until_said(("heard", 0, 1))
    await cluster.append(ORDERS, 0, [b"b"])

    # When
    for _ in range(10):
        await backing.metadata.refresh()

    # Then
    assert len(polls(cluster)) == 1
    listening.tail.set_awaited(key(0), is_awaited=True)
    await listening.until_said(("heard", 0, 2))


async def test_a_topic_is_remembered_as_long_as_one_of_its_partitions_is_watched(
    listening: Listening,
) -> None:
    tail = listening.tail
    tail.put(entry(0))
    tail.put(entry(1))
    assert list(tail.topic_names) == ["orders"]
    tail.drop(key(0))
    tail.drop(key(0))
    assert list(tail.topic_names) == ["orders"]
    tail.drop(key(1))
    assert list(tail.topic_names) == []


async def test_a_topic_created_anew_is_known_by_its_name_when_the_old_one_is_dropped(
    listening: Listening,
) -> None:
    # Given
    tail = listening.tail
    tail.put(entry(0))
    tail.put(replace(entry(0), topic_id=PAYMENTS))

    # When
    tail.drop(key(0))

    # Then
    assert list(tail.topic_names) == ["orders"]


async def test_a_partition_that_was_dropped_is_not_heard_of(
    cluster: ScriptedCluster, listening: Listening
) -> None:
    # Given
    listening.watch(0)
    listening.watch(1)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    listening.tail.drop(key(0))

    # When
    await cluster.append(ORDERS, 0, [b"a"])
    await cluster.append(ORDERS, 1, [b"a"])
    await listening.until_said(("heard", 1, 1))

    # Then
    assert listening.said.empty()
    second = await cluster.brokers[1].until_asked(ApiKey.FETCH, 2)
    assert isinstance(second.message, FetchRequest)
    assert [topic.partitions for topic in second.message.forgotten_topics_data] == [[0]]


@pytest.mark.parametrize(
    "error_code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
async def test_a_partition_that_the_broker_refuses_is_told_and_leaves_the_tail(
    error_code: ErrorCode, cluster: ScriptedCluster, listening: Listening
) -> None:
    # Given
    cluster.refuse(ORDERS, 0, error_code)

    # When
    listening.watch(0)
    listening.watch(1)

    # Then
    await listening.until_said(("refused", 0, error_code))
    await cluster.append(ORDERS, 1, [b"a"])
    await listening.until_said(("heard", 1, 1))
    second = polls(cluster)[1]
    assert [topic.partitions for topic in second.forgotten_topics_data] == [[0]]


async def test_a_session_that_the_broker_forgot_is_opened_anew(
    cluster: ScriptedCluster, listening: Listening
) -> None:
    # Given
    listening.watch(0)
    listening.watch(1)
    await cluster.append(ORDERS, 0, [b"a"])
    await listening.until_said(("heard", 0, 1))
    cluster.sessions[1].forget_all()

    # When
    await cluster.append(ORDERS, 1, [b"a"])

    # Then
    await listening.until_said(("heard", 1, 1))


async def test_a_broker_without_room_for_sessions_is_watched_all_the_same(
    cluster: ScriptedCluster, listening: Listening
) -> None:
    # Given
    cluster.sessions[1].has_room = False
    listening.watch(0)
    listening.watch(1)

    # When
    await cluster.append(ORDERS, 0, [b"a"])
    await listening.until_said(("heard", 0, 1))
    await cluster.append(ORDERS, 1, [b"a"])

    # Then
    await listening.until_said(("heard", 1, 1))
    assert {poll.session_epoch for poll in polls(cluster)} == {0}


async def test_a_broker_that_went_away_is_watched_again_when_it_is_back(
    cluster: ScriptedCluster, listening: Listening
) -> None:
    # Given
    listening.watch(0)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    await cluster.brokers[1].stop()
    await listening.until_said(("lost", -1, -1))
    cluster.sessions[1].forget_all()
    cluster.log(ORDERS, 0).append([b"a"])

    # When
    await cluster.brokers[1].start()

    # Then
    await listening.until_said(("heard", 0, 1))


async def test_an_error_of_the_whole_fetch_is_tried_again_after_a_pause(
    cluster: ScriptedCluster, listening: Listening, backing: Backing
) -> None:
    # Given
    broker = cluster.brokers[1]
    honest = broker.answers[ApiKey.FETCH]
    broker.answers[ApiKey.FETCH] = lambda _: FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    began_ms = backing.clock.now_ms()
    listening.watch(0)
    await listening.until_said(("lost", -1, -1))

    # When
    broker.answers[ApiKey.FETCH] = honest
    await cluster.append(ORDERS, 0, [b"a"])

    # Then
    await listening.until_said(("heard", 0, 1))
    assert backing.clock.now_ms() - began_ms >= 50


async def test_answers_without_news_that_come_too_early_do_not_make_it_ask_without_end(
    cluster: ScriptedCluster, listening: Listening, backing: Backing
) -> None:
    # Given
    cluster.brokers[1].answers[ApiKey.FETCH] = lambda _: FetchResponse(session_id=1)
    began_ms = backing.clock.now_ms()

    # When
    listening.watch(0)
    await cluster.brokers[1].until_asked(ApiKey.FETCH, 4)

    # Then
    assert backing.clock.now_ms() - began_ms >= 3 * 50
