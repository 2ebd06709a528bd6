"""How long a broker reads nothing."""

import asyncio

import pytest

from kproxy.net.cluster.broker_client import ConnectionLimits, dial
from kproxy.net.cluster.throttle import LONGEST_THROTTLE_MS, Throttle, throttle_ms_in
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.describe_acls_response import DescribeAclsResponse
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.produce_response import ProduceResponse
from tests.in_memory.answering_broker import Reply
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing, ask, broker_that

FRAME_LENGTH_BYTES = 4


async def test_a_broker_reads_until_it_says_that_it_does_not() -> None:
    assert Throttle().remaining_ms == 0


async def test_the_throttle_time_that_ends_last_counts_up_to_a_bound() -> None:
    # Given
    throttle = Throttle()
    throttle.begin(2**31 - 1)

    # When
    throttle.begin(1)

    # Then
    assert LONGEST_THROTTLE_MS - 10_000 < throttle.remaining_ms <= LONGEST_THROTTLE_MS


@pytest.mark.parametrize(
    ("api_key", "response", "version", "expected"),
    [
        (ApiKey.METADATA, MetadataResponse(throttle_time_ms=700), 2, 0),
        (ApiKey.METADATA, MetadataResponse(throttle_time_ms=700), 3, 700),
        (ApiKey.METADATA, MetadataResponse(throttle_time_ms=700), 9, 700),
        (ApiKey.LIST_GROUPS, ListGroupsResponse(throttle_time_ms=700), 0, 0),
        (ApiKey.LIST_GROUPS, ListGroupsResponse(throttle_time_ms=700), 5, 700),
        (ApiKey.FETCH, FetchResponse(throttle_time_ms=700), 12, 700),
        (ApiKey.DESCRIBE_ACLS, DescribeAclsResponse(throttle_time_ms=700), 3, 700),
        # It stands behind what is said of partitions, or of versions.
        (ApiKey.PRODUCE, ProduceResponse(throttle_time_ms=700), 9, 0),
        (ApiKey.API_VERSIONS, ApiVersionsResponse(throttle_time_ms=700), 3, 0),
    ],
)
def test_the_throttle_time_is_read_of_answers_that_begin_with_it(
    api_key: ApiKey, response: codecs.Message, version: int, expected: int
) -> None:
    frame = b"".join(codecs.encode_response(api_key, version, 7, response))[FRAME_LENGTH_BYTES:]

    assert throttle_ms_in(api_key, version, memoryview(frame)) == expected


async def test_looks_at_topics_hear_of_throttle_times_also_where_nothing_else_is_new() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        names = frozenset({"orders"})
        await backing.metadata.refresh()
        await backing.metadata.look(names)
        answer = cluster.brokers[1].answers[ApiKey.METADATA]

        def throttled(request: DecodedRequest) -> Reply:
            response = answer(request)
            assert isinstance(response, MetadataResponse)
            response.throttle_time_ms = 1
            return response

        cluster.brokers[1].answers[ApiKey.METADATA] = throttled

        # When
        for _ in range(2):
            await backing.metadata.look(names)

        # Then
        assert backing.counted.of("metadata_looks", "same") == 2
        assert backing.counted.of("broker_throttles") == 2


async def test_a_throttle_time_counts_although_whoever_asked_is_gone() -> None:
    # Given
    may_answer = asyncio.Event()

    async def answer(_: DecodedRequest) -> Reply:
        await may_answer.wait()
        return MetadataResponse(throttle_time_ms=5_000)

    async with broker_that(answer) as broker:
        client = await dial(broker.address, ConnectionLimits())
        throttled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        client.on_throttled = throttled.set_result
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(ask(client))
            await broker.until_asked(ApiKey.METADATA)

            # When
            asking.cancel()
        may_answer.set()

        # Then
        async with asyncio.timeout(10):
            assert await throttled == 5_000
        client.close()
