"""What kproxy learns of real clusters, and what it says of those that it cannot use."""

import pytest

from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.cluster.metadata_rounds import MetadataTiming
from kproxy.net.cluster.share_support import ShareSupport
from kproxy.settings.addresses import HostPort
from kproxy.share.identifiers import TopicId
from tests.event_loops import run
from tests.real_kafka.backing_topics import addresses, backing_topic, looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.session_clusters import ClusterOfSession
from tests.worlds.backing import Backing

JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b" user_a="b";'
)
SASL_SETTINGS = {
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": JAAS,
}
SASL_CLIENT = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "a",
    "sasl.password": "b",
}


@pytest.fixture
def cluster_with_support(
    kafka_cluster: ClusterOfSession, version: str, support: ShareSupport
) -> KafkaCluster:
    return kafka_cluster(version, share_groups=support is ShareSupport.SERVED)


@pytest.mark.parametrize(
    ("version", "support"),
    [
        ("4.3.1", ShareSupport.ABSENT),
        ("4.3.1", ShareSupport.SERVED),
        ("3.9.2", ShareSupport.ABSENT),
        ("2.8.2", ShareSupport.ABSENT),
    ],
)
async def test_the_probe_tells_whether_a_cluster_serves_share_groups_itself(
    cluster_with_support: KafkaCluster, support: ShareSupport
) -> None:
    async with looking_at(cluster_with_support) as backing:
        assert await backing.metadata.probe_share_groups() is support


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2", "2.8.2"])
async def test_brokers_and_topics_of_a_real_cluster_are_known(cluster: KafkaCluster) -> None:
    async with backing_topic(cluster) as (backing, topic):
        description = backing.metadata.describe(topic.topic_id)
        assert description is not None
        assert (description.name, description.partition_count) == (topic.name, 3)
        (broker,) = backing.metadata.brokers
        assert broker.node_id == 1
        assert [HostPort(broker.host, broker.port)] == addresses(cluster)
        assert await backing.metadata.topics_named(["there-is-no-such-topic"]) == {}
        assert await backing.metadata.topic_with_id(TopicId(b"no-such-topic-id")) is None


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
async def test_a_topic_is_found_by_its_id_by_one_who_never_heard_its_name(cluster: KafkaCluster) -> None:
    async with backing_topic(cluster) as (_, topic), looking_at(cluster) as stranger:
        found = await stranger.metadata.topic_with_id(topic.topic_id)
        assert found is not None
        assert found.name == topic.name


def test_a_broker_that_wants_sasl_is_recognised() -> None:
    with KafkaCluster(broker_settings=SASL_SETTINGS, client_settings=SASL_CLIENT) as cluster:

        async def scenario() -> None:
            async with Backing(addresses(cluster), timing=MetadataTiming()) as backing:
                with pytest.raises(AuthenticationExpected, match="it may expect SASL authentication"):
                    await backing.metadata.refresh()

        run(scenario())


@pytest.mark.soak
def test_a_broker_that_joins_is_told() -> None:
    with KafkaCluster(brokers=2) as cluster:

        async def scenario() -> None:
            # Given
            cluster.stop_broker(2)
            async with looking_at(cluster) as backing:
                told: list[list[int]] = []
                backing.metadata.on_brokers.append(lambda known: told.append([one.node_id for one in known]))
                await backing.metadata.refresh()

                # When
                cluster.start_broker(2)
                await backing.metadata.refresh()

                # Then
                assert told[-1] == [1, 2]

        run(scenario())
