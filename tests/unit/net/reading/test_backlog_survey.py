"""Surveys of logs: cheap, bounded, and true of what was not learned."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.backlog import Backlog, BacklogQuestion, Backlogs
from kproxy.net.reading import backlog_survey
from kproxy.net.reading.backlog_survey import FIRST_BATCH_BYTES, LARGE_BATCHES, BacklogSurvey
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.list_offsets_request import ListOffsetsRequest
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse
from kproxy.wire.record_times import RecordTime
from tests.in_memory.backlog_contract import BACKLOG_CONTRACT, BacklogWorld
from tests.in_memory.in_memory_backlogs import InMemoryBacklogs
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.in_memory.scripted_partition_reader import InMemoryLog
from tests.worlds.backing import ORDERS, Backing


class DoubleWorld:
    """The `InMemoryBacklogs`."""

    def __init__(self) -> None:
        self.topic_id = ORDERS
        self._double = InMemoryBacklogs()
        self._double.logs = {TopicIdPartition(ORDERS, partition): InMemoryLog() for partition in range(3)}
        self.backlogs: Backlogs = self._double

    async def append(self, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 1) -> None:
        """Append `values` as one batch."""
        self._double.logs[TopicIdPartition(ORDERS, partition)].append(values, timestamp_ms=timestamp_ms)

    async def move_start(self, partition: int, log_start_offset: int) -> None:
        """Delete the records below `log_start_offset`."""
        self._double.logs[TopicIdPartition(ORDERS, partition)].move_start(log_start_offset)

    async def open_transaction(self, partition: int, first_offset: int) -> None:
        """Let the records from there on be of a transaction that has not ended."""
        self._double.logs[TopicIdPartition(ORDERS, partition)].open_transactions[7] = first_offset


class ScriptedWorld:
    """The real survey in front of a scripted cluster."""

    def __init__(self, cluster: ScriptedCluster, backing: Backing) -> None:
        self.topic_id = ORDERS
        self.backlogs: Backlogs = survey(backing)
        self._cluster = cluster
        cluster.create_topic("orders", ORDERS, partition_count=3)

    async def append(self, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 1) -> None:
        """Append `values` as one batch."""
        await self._cluster.append(ORDERS, partition, values, timestamp_ms=timestamp_ms)

    async def move_start(self, partition: int, log_start_offset: int) -> None:
        """Delete the records below `log_start_offset`."""
        self._cluster.log(ORDERS, partition).move_start(log_start_offset)

    async def open_transaction(self, partition: int, first_offset: int) -> None:
        """Let the records from there on be of a transaction that has not ended."""
        self._cluster.log(ORDERS, partition).open_transactions[7] = first_offset


def survey(backing: Backing, *, timeout_s: float = 3.0) -> BacklogSurvey:
    return BacklogSurvey(metadata=backing.metadata, connections=backing.connections, timeout_s=timeout_s)


def questions(count: int) -> list[BacklogQuestion]:
    return [BacklogQuestion(ORDERS, "orders", partition, 0) for partition in range(count)]


every_clause = pytest.mark.parametrize("clause", BACKLOG_CONTRACT, ids=lambda clause: clause.__name__)


@every_clause
def test_the_double_keeps_the_contract(clause: Callable[[BacklogWorld], Awaitable[None]]) -> None:
    asyncio.run(clause(DoubleWorld()))  # type: ignore[arg-type]  # a clause is a coroutine function


@every_clause
async def test_the_survey_keeps_the_contract(clause: Callable[[BacklogWorld], Awaitable[None]]) -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await clause(ScriptedWorld(cluster, backing))


async def test_a_thousand_partitions_cost_each_leader_few_requests() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=1000)
        for partition in range(1000):
            cluster.log(ORDERS, partition).append([b"a"], timestamp_ms=partition)

        # When
        found = await survey(backing, timeout_s=30).look(questions(1000))

        # Then
        assert found == [Backlog(1, RecordTime(number, is_exact=True)) for number in range(1000)]
        assert [len(cluster.brokers[node].asked(ApiKey.LIST_OFFSETS)) for node in (1, 2)] == [2, 2]
        assert [len(cluster.brokers[node].asked(ApiKey.FETCH)) for node in (1, 2)] == [16, 16]


async def test_others_have_turns_while_very_many_partitions_are_surveyed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(backlog_survey, "QUESTIONS_AT_ONCE", 3)
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=7)
        for partition in range(7):
            cluster.log(ORDERS, partition).append([b"a"], timestamp_ms=partition)

        # When
        found = await survey(backing, timeout_s=30).look(questions(7))

        # Then
        assert found == [Backlog(1, RecordTime(number, is_exact=True)) for number in range(7)]
        asked = [request.message for request in cluster.brokers[1].asked(ApiKey.LIST_OFFSETS)]
        counts = [len(body.topics[0].partitions) for body in asked if isinstance(body, ListOffsetsRequest)]
        assert counts == [3, 3, 1]


async def test_of_large_batches_so_many_are_read_and_no_more() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        count = LARGE_BATCHES + 10
        cluster.create_topic("orders", ORDERS, partition_count=count)
        for partition in range(count):
            cluster.log(ORDERS, partition).append([bytes(FIRST_BATCH_BYTES)], timestamp_ms=7)

        # When
        found = await survey(backing, timeout_s=30).look(questions(count))

        # Then
        unread = [backlog for backlog in found if backlog.oldest is None]
        assert len(unread) == count - LARGE_BATCHES - 2  # and the first batch of each of two Fetches
        assert {backlog.reason for backlog in unread} == {
            f"its batch is larger than {FIRST_BATCH_BYTES} bytes, as are {LARGE_BATCHES} others"
        }
        assert {backlog.log_end_offset for backlog in found} == {1}


async def test_brokers_that_do_not_answer_cost_no_more_than_the_time_there_is() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        await cluster.append(ORDERS, 0, [b"a"], timestamp_ms=5)

        async def never(_: DecodedRequest) -> ListOffsetsResponse:
            await asyncio.Event().wait()
            raise AssertionError

        cluster.brokers[2].answers[ApiKey.LIST_OFFSETS] = never

        # When
        found = await survey(backing, timeout_s=1.5).look(questions(2))

        # Then
        unanswered = "the brokers did not answer within 1.5 s"
        timed_out = Backlog(None, None, unanswered, ErrorCode.REQUEST_TIMED_OUT)
        assert found == [Backlog(1, None, unanswered), timed_out]


async def test_a_cluster_that_is_gone_is_said_of_each_partition() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=2)
        looking = survey(backing)
        await cluster.brokers[1].stop()

        # When
        found = await looking.look(questions(2))

        # Then
        assert [backlog.log_end_offset for backlog in found] == [None, None]
        assert all(str(cluster.brokers[1].address) in backlog.reason for backlog in found)


async def test_a_partition_that_cannot_be_read_has_an_end_and_a_reason() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await cluster.append(ORDERS, 0, [b"a"])
        honest = cluster.brokers[1].answers[ApiKey.LIST_OFFSETS]

        def then_forbidden(request: DecodedRequest) -> object:
            answer = honest(request)
            cluster.refuse(ORDERS, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            return answer

        cluster.brokers[1].answers[ApiKey.LIST_OFFSETS] = then_forbidden  # type: ignore[assignment]  # passed on

        # When
        found = await survey(backing).look(questions(1))

        # Then
        assert found == [Backlog(1, None, "offset 0 cannot be read: TOPIC_AUTHORIZATION_FAILED")]
