"""Who is told of what came, when the rest takes long."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence

import pytest

from kproxy.handlers.ports import PartitionRead
from kproxy.net.reading import early_reads
from kproxy.net.reading.early_reads import EarlyReads
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from tests.event_loops import async_fixture
from tests.in_memory.answering_broker import Reply
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing, never
from tests.worlds.waiting import until

FIRST, SECOND = (PartitionRead(ORDERS, partition, 0, 500) for partition in (0, 1))


@pytest.fixture(autouse=True)
def _impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_reads, "PATIENCE_SECONDS", 0.001)


async def test_what_came_before_and_what_comes_later_is_told_once_when_the_rest_takes_long() -> None:
    # Given
    told: list[list[PartitionRead]] = []
    with EarlyReads(lambda came: told.append([*came])) as early:
        early.came([FIRST])

        # When
        await until(lambda: bool(told))
        early.came([SECOND])

    # Then
    assert told == [[FIRST], [SECOND]]


async def test_a_read_that_is_over_tells_nothing_more() -> None:
    # Given
    told: list[list[PartitionRead]] = []

    # When
    with EarlyReads(lambda came: told.append([*came])) as early:
        early.came([FIRST])
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(2 * early_reads.PATIENCE_SECONDS, over.set)
    await over.wait()

    # Then
    assert told == []


# ---- the reads of two leaders


@async_fixture
async def cluster() -> AsyncIterator[ScriptedCluster]:
    """Two brokers, which lead a partition of `orders` each, with a record in it."""
    async with ScriptedCluster((1, 2)) as cluster:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        for partition in (0, 1):
            cluster.log(ORDERS, partition).append([b"a"])
        yield cluster


@async_fixture
async def backing(cluster: ScriptedCluster) -> AsyncIterator[Backing]:
    async with Backing(cluster.bootstrap_servers) as backing:
        yield backing


async def told_before_the_end(backing: Backing, reads: Sequence[PartitionRead]) -> int:
    """Return the only partition that is told before a read ends, which is then cut off."""
    early: asyncio.Queue[int] = asyncio.Queue()

    def on_early(came: Iterable[PartitionRead]) -> None:
        for read in came:
            early.put_nowait(read.partition)

    reading = backing.reader.read(reads, max_bytes=900, on_early=on_early)
    async with asyncio.TaskGroup() as readers:
        slow = readers.create_task(reading)
        told = await asyncio.wait_for(early.get(), 5)
        slow.cancel()
    assert early.empty()
    return told


@pytest.mark.parametrize("offset", [0, 99])
async def test_what_one_leader_says_is_told_while_another_one_hangs(
    offset: int, cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    cluster.brokers[2].answers[ApiKey.FETCH] = never
    reads = [PartitionRead(ORDERS, partition, offset, 500) for partition in (0, 1)]

    # When
    told = await told_before_the_end(backing, reads)

    # Then
    assert told == 0


async def test_what_one_leader_sends_is_told_while_another_leader_is_sought_anew(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    await backing.read_one(ORDERS, 0, 0)
    await cluster.brokers[2].stop()
    await backing.read_one(ORDERS, 1, 0)  # from now on it is known at once
    cluster.brokers[1].answers[ApiKey.METADATA] = never
    reads = [PartitionRead(ORDERS, partition, 0, 500) for partition in (0, 1)]

    # When
    told = await told_before_the_end(backing, reads)

    # Then
    assert told == 0
    await cluster.brokers[2].start()


async def test_what_a_new_leader_sends_is_told_while_another_new_one_hangs(
    cluster: ScriptedCluster, backing: Backing
) -> None:
    # Given
    for partition, new_leader_id in ((0, 2), (1, 1)):
        await backing.read_one(ORDERS, partition, 0)
        cluster.lead(ORDERS, partition, new_leader_id)
    fetches = cluster.brokers[1].answers
    honest = fetches[ApiKey.FETCH]

    def answer_once(request: DecodedRequest) -> Reply | Awaitable[Reply]:
        fetches[ApiKey.FETCH] = never
        return honest(request)

    fetches[ApiKey.FETCH] = answer_once
    reads = [PartitionRead(ORDERS, partition, 0, 500) for partition in (0, 1)]

    # When
    told = await told_before_the_end(backing, reads)

    # Then
    assert told == 0
