import asyncio
import logging

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import BrokerEndpoint, PartitionLeader, TopicDescription
from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.cluster.metadata_rounds import MetadataTiming
from kproxy.net.cluster.share_support import ShareSupport
from kproxy.net.cluster.view import ClusterBroker, TopicIdsMissing
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, PAYMENTS, Backing

NEW_ORDERS = TopicId(b"topic-id-orders2")


def asked_names(cluster: ScriptedCluster) -> list[list[str | None]]:
    requests = [request.message for request in cluster.asked(ApiKey.METADATA)]
    return [
        [topic.name for topic in request.topics or []]
        for request in requests
        if isinstance(request, MetadataRequest)
    ]


async def test_brokers_are_told_to_those_who_asked_to_know_once_for_each_change() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        told: list[list[int]] = []
        backing.metadata.on_brokers.append(
            lambda brokers: told.append([broker.node_id for broker in brokers])
        )
        cluster.listed_node_ids = [1]

        # When
        await backing.metadata.refresh()
        await backing.metadata.refresh()
        cluster.listed_node_ids = [1, 2]
        await backing.metadata.refresh()

        # Then
        assert told == [[1], [1, 2]]
        assert backing.metadata.cluster_id == "scripted-cluster"
        port = cluster.brokers[2].address.port
        assert backing.metadata.brokers[1] == ClusterBroker(2, "127.0.0.1", port, None)


async def test_clients_are_sent_to_the_advertised_endpoints_only() -> None:
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.refresh()
        assert backing.metadata.advertised_endpoints() == (
            BrokerEndpoint(1, "kproxy.test", 9001, None),
            BrokerEndpoint(2, "kproxy.test", 9002, None),
        )


async def test_a_topic_is_asked_for_once_and_then_known_by_name_and_by_id() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=3)

        # When
        found = [await backing.metadata.topics_named(["orders", "nothing"]) for _ in range(2)]

        # Then
        orders = TopicDescription(ORDERS, "orders", 3)
        assert found == [{"orders": orders}, {"orders": orders}]
        assert await backing.metadata.topic_with_id(ORDERS) == orders
        assert backing.metadata.describe(ORDERS) == orders
        assert backing.metadata.leader_of(ORDERS, 2) == PartitionLeader(1, 0)
        assert asked_names(cluster) == [["nothing", "orders"]]


async def test_a_topic_is_found_by_its_id_alone() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)

        # When
        found = [await backing.metadata.topic_with_id(topic_id) for topic_id in (ORDERS, PAYMENTS, PAYMENTS)]

        # Then
        assert found == [TopicDescription(ORDERS, "orders", 1), None, None]
        assert len(cluster.asked(ApiKey.METADATA)) == 2


async def test_brokers_that_cannot_be_asked_by_id_are_not() -> None:
    """Kafka 2.8 and 3.0 have topic ids, and refuse requests that name a topic by its id."""
    # Given
    async with (
        ScriptedCluster(metadata_versions=(0, 11)) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        cluster.create_topic("orders", ORDERS)

        # When
        before = await backing.metadata.topic_with_id(ORDERS)
        named = await backing.metadata.topics_named(["orders"])

        # Then
        assert before is None
        assert named == {"orders": TopicDescription(ORDERS, "orders", 1)}
        assert await backing.metadata.topic_with_id(ORDERS) == named["orders"]
        assert asked_names(cluster) == [[], ["orders"]]


async def test_topics_are_not_created_by_asking() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.topics_named(["nothing"])
        request = cluster.asked(ApiKey.METADATA)[0].message
        assert isinstance(request, MetadataRequest)
        assert not request.allow_auto_topic_creation


async def test_many_topics_are_asked_for_in_several_requests() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.topics_named([f"topic-{number:04}" for number in range(1201)])
        assert [len(names) for names in asked_names(cluster)] == [500, 500, 201]


async def test_what_kproxy_asks_for_itself_does_not_wait_for_what_clients_name() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])
        names = [[f"{number}.{each}" for each in range(5_000)] for number in range(4)]
        async with asyncio.TaskGroup() as callers:
            wide = [callers.create_task(backing.metadata.topics_named(each)) for each in names]
            await asyncio.sleep(0)

            # When
            await backing.metadata.confirm([ORDERS], not_older_than_ms=0)
            await backing.metadata.ask_for_brokers()

            # Then
            assert not any(each.done() for each in wide)
            assert len(cluster.asked(ApiKey.METADATA)) < 40


async def test_each_answer_of_a_long_round_is_contact_with_the_cluster() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        names = [f"topic-{number:04}" for number in range(4_000)]
        async with asyncio.TaskGroup() as callers:
            asking = callers.create_task(backing.metadata.topics_named(names))

            # When
            await cluster.brokers[1].until_asked(ApiKey.METADATA, 3)
            age_ms = backing.metadata.contact_age_ms

            # Then
            assert age_ms is not None
            assert not asking.done()


async def test_concurrent_refreshes_share_one_request() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await asyncio.gather(*(backing.metadata.refresh() for _ in range(20)))
        assert len(cluster.asked(ApiKey.METADATA)) == 1
        assert backing.counted.counts[("metadata_refreshes", "ok")] == 1


async def test_once_the_brokers_are_known_one_of_them_is_asked_on_a_connection_that_stays() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        for _ in range(4):
            await backing.metadata.refresh()
        assert cluster.brokers[1].accepted_count == 2
        await cluster.brokers[1].until_connected(1)


async def test_a_refresh_brings_new_leaders_and_says_so() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])
        moved: list[TopicId] = []
        backing.metadata.on_topics.append(moved.extend)
        cluster.lead(ORDERS, 0, 2)

        # When
        await backing.metadata.refresh()

        # Then
        assert backing.metadata.leader_of(ORDERS, 0) == PartitionLeader(2, 1)
        assert moved == [ORDERS]
        age_ms = backing.metadata.age_ms
        assert age_ms is not None
        assert 0 <= age_ms < 10_000


async def test_a_topic_created_anew_is_noticed_when_its_name_is_confirmed() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])
        cluster.create_topic("orders", NEW_ORDERS)
        await backing.metadata.confirm([ORDERS], not_older_than_ms=60_000)
        assert backing.metadata.describe(ORDERS) is not None

        # When
        await backing.metadata.confirm([ORDERS], not_older_than_ms=0)

        # Then
        assert backing.metadata.describe(ORDERS) is None
        assert backing.metadata.describe(NEW_ORDERS) == TopicDescription(NEW_ORDERS, "orders", 1)


async def test_topics_that_the_cluster_lost_are_told_by_name() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        count_before = len(cluster.asked(ApiKey.METADATA))

        # When
        missing = await backing.metadata.missing_topics({ORDERS: "orders", PAYMENTS: "payments"})

        # Then
        assert missing == [PAYMENTS]
        assert await backing.metadata.missing_topics({}) == ()
        assert len(cluster.asked(ApiKey.METADATA)) == count_before + 1


async def test_the_cache_refreshes_itself() -> None:
    # Given
    timing = MetadataTiming(max_age_ms=10, min_interval_ms=1)
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers, timing=timing) as backing:
        refreshed = asyncio.Semaphore(0)
        backing.metadata.on_refreshed.append(refreshed.release)

        # When
        backing.metadata.start()

        # Then
        for _ in range(3):
            await refreshed.acquire()
        assert len(cluster.asked(ApiKey.METADATA)) >= 3


async def test_a_cluster_that_is_away_at_first_is_found_when_it_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        # Given
        async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
            found = asyncio.Event()
            backing.metadata.on_refreshed.append(found.set)
            await cluster.brokers[1].stop()
            backing.metadata.start()
            with pytest.raises(BrokerUnavailable):
                await backing.metadata.refresh()

            # When
            await cluster.brokers[1].start()

            # Then
            await found.wait()
            assert backing.metadata.last_failure is None
    assert [record.msg for record in caplog.records] == [
        "backing_cluster_unreachable",
        "backing_brokers_changed",
        "backing_cluster_reached",
    ]


async def test_a_wrong_bootstrap_address_is_an_error_that_names_what_was_tried() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await cluster.brokers[1].stop()

        # When
        with pytest.raises(BrokerUnavailable) as failure:
            await backing.metadata.refresh()

        # Then
        address = cluster.bootstrap_servers[0]
        expected = f"{address} cannot be reached (127.0.0.1: connection refused)"
        assert str(failure.value) == f"no broker of the backing cluster answers: {expected}"
        assert str(backing.metadata.last_failure) == str(failure.value)
        assert backing.metadata.age_ms is None
        assert backing.counted.counts[("metadata_refreshes", "failed")] == 1
        await cluster.brokers[1].start()


async def test_a_cluster_that_wants_authentication_says_so() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.brokers[1].answers[ApiKey.METADATA] = lambda _: None

        # When
        with pytest.raises(AuthenticationExpected, match="it may expect SASL authentication"):
            await backing.metadata.refresh()

        # Then
        assert isinstance(backing.metadata.last_failure, AuthenticationExpected)


async def test_a_cluster_without_topic_ids_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with (
        ScriptedCluster(metadata_versions=(0, 9)) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        with pytest.raises(TopicIdsMissing) as refusal:
            await backing.metadata.refresh()
        peer = cluster.bootstrap_servers[0]
        assert str(refusal.value) == (
            "the backing cluster has no topic ids: "
            f"{peer} speaks Metadata up to version 9, topic ids came with 10 (Kafka 2.8)"
        )
        assert backing.metadata.contact_age_ms is not None, "it answered"
        assert "backing_cluster_unreachable" not in [record.msg for record in caplog.records]


async def test_an_answer_of_another_cluster_is_refused() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.refresh()
        cluster.cluster_id = "another-cluster"

        # When
        with pytest.raises(
            BrokerUnavailable, match="is of cluster 'another-cluster', expected 'scripted-cluster'"
        ):
            await backing.metadata.refresh()

        # Then
        assert backing.metadata.cluster_id == "scripted-cluster"


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (MetadataResponse(), "error 0 and 0 brokers"),
        (MetadataResponse(error_code=129, brokers=[MetadataResponseBroker()]), "error 129 and 1 broker"),
    ],
)
async def test_an_answer_without_brokers_or_with_an_error_is_refused(
    response: MetadataResponse, said: str
) -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.brokers[1].answers[ApiKey.METADATA] = lambda _: response
        with pytest.raises(BrokerUnavailable, match=f"answered Metadata with {said}"):
            await backing.metadata.refresh()


async def test_the_cluster_is_probed_for_share_groups_of_its_own() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        assert await backing.metadata.probe_share_groups() is ShareSupport.ABSENT


async def test_a_broker_whose_word_on_share_groups_tells_nothing_makes_kproxy_ask_the_next() -> None:
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        await backing.metadata.refresh()
        probe = ApiKey.SHARE_GROUP_DESCRIBE
        for broker in cluster.brokers.values():
            broker.version_ranges[probe] = (1, 1)
        cluster.brokers[1].answers[probe] = lambda _: ShareGroupDescribeResponse()
        cluster.brokers[2].answers[probe] = lambda _: ShareGroupDescribeResponse(
            groups=[DescribedGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)]
        )

        # When
        found = await backing.metadata.probe_share_groups()

        # Then
        assert found is ShareSupport.SERVED


async def test_topics_that_nobody_asks_about_are_not_asked_for_for_ever() -> None:
    # Given
    timing = MetadataTiming(min_interval_ms=1, idle_topic_ttl_ms=-1)
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers, timing=timing) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])

        # When
        await backing.metadata.refresh()
        await backing.metadata.refresh()

        # Then
        assert asked_names(cluster) == [["orders"], ["orders"], []]
