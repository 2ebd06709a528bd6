import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net import tasks
from kproxy.net.reading.availability import MOST_BELIEFS
from kproxy.net.reading.fetch_session import FetchSession
from kproxy.net.waking_turns import MOST_IN_A_TURN
from kproxy.share.identifiers import SharePartitionKey, TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from tests.event_loops import BOTH_LOOPS, async_fixture
from tests.in_memory.availability_contract import AVAILABILITY_CONTRACT, AvailabilityWorld
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.unit.net.contract_worlds import DoubleAvailabilityWorld, ScriptedAvailabilityWorld
from tests.worlds.backing import ORDERS, PAYMENTS, Backing, share_partition


@pytest.mark.parametrize("clause", AVAILABILITY_CONTRACT)
async def test_the_double_keeps_the_contract(clause: Callable[[AvailabilityWorld], Awaitable[None]]) -> None:
    await clause(DoubleAvailabilityWorld())


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
@pytest.mark.parametrize("clause", AVAILABILITY_CONTRACT)
async def test_the_availability_keeps_the_contract(
    clause: Callable[[AvailabilityWorld], Awaitable[None]],
) -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await clause(ScriptedAvailabilityWorld(cluster, backing))


@pytest.fixture
def node_ids() -> Sequence[int]:
    return (1,)


@async_fixture
async def cluster(node_ids: Sequence[int]) -> AsyncIterator[ScriptedCluster]:
    async with ScriptedCluster(node_ids) as cluster:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        yield cluster


@async_fixture
async def backing(cluster: ScriptedCluster) -> AsyncIterator[Backing]:
    """What knows of the topic `orders`, which has two partitions."""
    async with Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.topics_named(["orders"])
        yield backing


ORDERS_0 = share_partition(ORDERS, 0)
ORDERS_1 = share_partition(ORDERS, 1)
LONG_MS: Final = 20_000


async def at_rest(cluster: ScriptedCluster, backing: Backing) -> None:
    """Return when no poll is out, nor on its way."""
    for _ in range(3):
        await backing.metadata.refresh()
        await cluster.until_no_poll_is_out()


def watched_partitions(cluster: ScriptedCluster) -> list[int]:
    return [
        key.partition for session in cluster.sessions[1].open_sessions.values() for key in session.partitions
    ]


@pytest.mark.parametrize("node_ids", [(1, 2)], ids=["two brokers"])
async def test_a_watch_follows_the_leader_that_a_broker_names_by_disowning_the_partition(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    wait = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH)

    # When
    cluster.lead(ORDERS, 0, 2)
    await cluster.wake_polls()
    await cluster.brokers[2].until_asked(ApiKey.FETCH)
    await cluster.append(ORDERS, 0, [b"a"])

    # Then
    await wait


@pytest.mark.parametrize("node_ids", [(1, 2)], ids=["two brokers"])
async def test_a_watch_follows_the_leader_when_its_broker_dies(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    wait = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH)

    # When
    cluster.lead(ORDERS, 0, 2)
    await cluster.brokers[1].stop()
    await cluster.brokers[2].until_asked(ApiKey.FETCH)
    await cluster.append(ORDERS, 0, [b"a"])

    # Then
    await wait
    await cluster.brokers[1].start()


async def test_a_leader_that_disowns_its_partition_for_a_while_is_tried_again(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.refuse(ORDERS, 0, ErrorCode.UNKNOWN_LEADER_EPOCH)
    wait = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH, 3)

    # When
    cluster.refuse(ORDERS, 0, ErrorCode.NONE)
    await cluster.append(ORDERS, 0, [b"a"])

    # Then
    await wait


async def test_a_partition_without_a_leader_is_watched_as_soon_as_it_has_one(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.lead(ORDERS, 0, -1)
    await backing.metadata.refresh()
    wait = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until_asked(ApiKey.METADATA, len(cluster.asked(ApiKey.METADATA)) + 1)

    # When
    cluster.lead(ORDERS, 0, 1)
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    await cluster.append(ORDERS, 0, [b"a"])

    # Then
    await wait


async def test_for_a_partition_without_a_leader_its_topic_alone_is_asked_for(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.create_topic("payments", PAYMENTS)
    cluster.lead(ORDERS, 0, -1)
    await backing.metadata.refresh()
    await backing.metadata.topics_named(["orders", "payments"])
    before = len(cluster.asked(ApiKey.METADATA))

    # When
    backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until_asked(ApiKey.METADATA, before + 3)

    # Then
    for request in cluster.asked(ApiKey.METADATA)[before:]:
        assert isinstance(request.message, MetadataRequest)
        assert request.message.topics is not None
        assert [topic.name for topic in request.message.topics] == ["orders"]


async def test_a_topic_that_was_never_heard_of_is_looked_up(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.create_topic("payments", PAYMENTS)
    wait = backing.wait_for((share_partition(PAYMENTS, 0), 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH)

    # When
    await cluster.append(PAYMENTS, 0, [b"a"])

    # Then
    await wait


async def test_a_topic_that_is_gone_wakes_its_sleepers_so_that_their_reads_find_out(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    wait = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH)

    # When
    cluster.create_topic("orders", TopicId(b"topic-id-orders2"))
    await backing.metadata.refresh()

    # Then
    await wait


@pytest.mark.parametrize("error_code", [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
async def test_a_partition_that_cannot_be_watched_wakes_its_sleepers(
    error_code: ErrorCode, cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.refuse(ORDERS, 0, error_code)

    # When
    wait = backing.wait_for((ORDERS_0, 0))

    # Then
    await wait


async def test_while_the_cluster_is_away_a_wait_ends_at_its_deadline(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    await cluster.brokers[1].stop()
    began_ms = backing.clock.now_ms()

    # When
    await backing.wait_for((ORDERS_0, 0), for_ms=30)

    # Then
    assert 30 <= backing.clock.now_ms() - began_ms < 5_000
    await cluster.brokers[1].start()


async def test_callers_whose_reads_never_find_what_was_heard_of_are_not_sent_to_read_without_end(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    """An unclean election can take back records that the tail had heard of."""
    # Given
    for _ in range(5):
        cluster.log(ORDERS, 0).append([b"a"])
    await backing.wait_for((ORDERS_0, 0))
    await at_rest(cluster, backing)
    cluster.log(ORDERS, 0).batches.clear()
    cluster.log(ORDERS, 0).end_offset = 3
    asked_count = len(cluster.asked(ApiKey.FETCH))

    # When
    for _ in range(MOST_BELIEFS):
        await backing.wait_for((ORDERS_0, 3))
    disbelieving = backing.wait_for((ORDERS_0, 3))
    await cluster.brokers[1].until_asked(ApiKey.FETCH, asked_count + 1)

    # Then
    assert not disbelieving.done()
    await cluster.append(ORDERS, 0, [b"b"])
    await disbelieving


async def test_what_the_tail_says_anew_is_believed_anew(cluster: ScriptedCluster, backing: Backing) -> None:
    # Given
    for _ in range(5):
        cluster.log(ORDERS, 0).append([b"a"])
    await backing.wait_for((ORDERS_0, 0))
    for _ in range(MOST_BELIEFS):
        await backing.wait_for((ORDERS_0, 3))
    wait = backing.wait_for((ORDERS_0, 5))
    await cluster.append(ORDERS, 0, [b"b"])
    await wait
    await at_rest(cluster, backing)
    asked_count = len(cluster.asked(ApiKey.FETCH))

    # When
    for _ in range(MOST_BELIEFS):
        await backing.wait_for((ORDERS_0, 3))

    # Then
    assert len(cluster.asked(ApiKey.FETCH)) == asked_count


async def test_a_busy_partition_that_nobody_waits_for_leaves_the_tail(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedCluster, backing: Backing
) -> None:
    monkeypatch.setattr("kproxy.net.reading.availability.BUSY_WATCH_TTL_MS", -1)

    # Given
    quiet = backing.wait_for((ORDERS_1, 0))
    busy = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until(lambda: watched_partitions(cluster) == [1, 0])
    await cluster.append(ORDERS, 0, [b"a"])
    await busy

    # When
    await cluster.append(ORDERS, 0, [b"b"])

    # Then
    await cluster.brokers[1].until(lambda: watched_partitions(cluster) == [1])
    await cluster.append(ORDERS, 1, [b"a"])
    await quiet


async def test_a_quiet_partition_that_nobody_waited_for_in_a_long_time_leaves_the_tail(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedCluster, backing: Backing
) -> None:
    monkeypatch.setattr("kproxy.net.reading.availability.QUIET_WATCH_TTL_MS", -1)
    monkeypatch.setattr("kproxy.net.reading.availability.SWEEP_INTERVAL_MS", -1)

    # Given
    forsaken = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until(lambda: watched_partitions(cluster) == [0])
    backing.availability.signal(ORDERS_0)
    await forsaken

    # When
    wait = backing.wait_for((ORDERS_1, 0))

    # Then
    await cluster.brokers[1].until(lambda: watched_partitions(cluster) == [1])
    await cluster.append(ORDERS, 1, [b"a"])
    await wait


async def test_a_read_that_saw_more_than_the_tail_moves_the_watch_on(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    """Otherwise the next poll would return at once, with a batch that everybody has read."""
    # Given
    wait = backing.wait_for((ORDERS_0, 0), (ORDERS_1, 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH)
    await cluster.append(ORDERS, 1, [b"a"])
    await wait
    await at_rest(cluster, backing)
    asked_count = len(cluster.asked(ApiKey.FETCH))
    for _ in range(5):
        cluster.log(ORDERS, 0).append([b"a"])

    # When
    wait = backing.wait_for((ORDERS_0, 5))
    poll = await cluster.brokers[1].until_asked(ApiKey.FETCH, asked_count + 1)

    # Then
    assert isinstance(poll.message, FetchRequest)
    offsets = {
        part.partition: part.fetch_offset for topic in poll.message.topics for part in topic.partitions
    }
    assert offsets[0] == 5
    await cluster.append(ORDERS, 0, [b"b"])
    await wait


async def test_a_fault_in_a_tail_does_not_end_it(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedCluster, backing: Backing
) -> None:
    monkeypatch.setattr(tasks, "FAULT_PAUSE_SECONDS", 0.01)
    absorb, fault_count = FetchSession.absorb, 0

    def broken_at_first(session: FetchSession, response: FetchResponse) -> None:
        nonlocal fault_count
        if fault_count < 2:
            fault_count += 1
            raise RuntimeError("broken")
        absorb(session, response)

    monkeypatch.setattr(FetchSession, "absorb", broken_at_first)

    # Given
    wait = backing.wait_for((ORDERS_0, 0))
    await cluster.brokers[1].until_asked(ApiKey.FETCH)

    # When
    await cluster.append(ORDERS, 0, [b"a"])

    # Then
    await wait
    assert fault_count == 2


async def test_of_many_sleepers_who_are_woken_together_only_so_many_get_up_in_a_turn(
    backing: Backing,
) -> None:
    # Given
    turn_count, woken_in, told = 0, list[int](), list[Collection[SharePartitionKey]]()

    async def wait() -> None:
        until_ms = backing.clock.now_ms() + LONG_MS
        told.append(await backing.availability.wait({ORDERS_0: None, ORDERS_1: None}, until_ms))
        woken_in.append(turn_count)

    # When
    async with asyncio.TaskGroup() as tasks:
        waits = [tasks.create_task(wait()) for _ in range(3 * MOST_IN_A_TURN)]
        await asyncio.sleep(0)
        backing.availability.signal(ORDERS_0)
        while not all(each.done() for each in waits):
            await asyncio.sleep(0)
            turn_count += 1
            if turn_count == 1:
                backing.availability.signal(ORDERS_1)

    # Then
    assert max(Counter(woken_in).values()) == MOST_IN_A_TURN
    assert [set(each) for each in (told[0], told[-1])] == [{ORDERS_0}, {ORDERS_0, ORDERS_1}]
