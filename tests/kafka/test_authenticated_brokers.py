"""Brokers that want to know who connects: kproxy's own connections cannot say it yet, its clients can."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.node_settings import CLIENT_LISTENER, CONTROLLER_LISTENER

JAAS: Final = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="broker" password="secret" user_broker="secret" user_alice="wonderland";'
)
BROKER_SETTINGS: Final = {
    "listener.security.protocol.map": f"{CLIENT_LISTENER}:SASL_PLAINTEXT,{CONTROLLER_LISTENER}:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    f"listener.name.{CLIENT_LISTENER.lower()}.plain.sasl.jaas.config": JAAS,
}
CLIENT_SETTINGS: Final = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": "wonderland",
}


@pytest.fixture(scope="module")
def guarded_cluster() -> Iterator[KafkaCluster]:
    """Its broker answers nobody who has not authenticated."""
    with KafkaCluster(broker_settings=BROKER_SETTINGS, client_settings=CLIENT_SETTINGS) as cluster:
        yield cluster


def test_where_kproxy_itself_is_turned_away_share_groups_are_off_and_it_says_why(
    guarded_cluster: KafkaCluster,
) -> None:
    # When
    with KproxyProcess(guarded_cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()

        # Then
        line, status = kproxy.start_line(), kproxy.status()
        [logged] = kproxy.log_events("ready")
    assert "share groups off" in line
    assert "SASL" in line
    assert status["shareGroups"]["enabled"] is False
    assert logged["share_groups"].startswith("off")


def test_clients_that_authenticate_are_relayed_where_kproxy_itself_is_turned_away(
    guarded_cluster: KafkaCluster,
) -> None:
    # Given
    with KproxyProcess(guarded_cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()
        bootstrap_servers = kproxy.bootstrap_servers
        topic = administration.create_topic(
            bootstrap_servers, unique_name("topic"), client_settings=CLIENT_SETTINGS
        )

        # When
        administration.produce(bootstrap_servers, topic, "abc", client_settings=CLIENT_SETTINGS)

        # Then
        values = administration.consume(bootstrap_servers, topic, 3, client_settings=CLIENT_SETTINGS)
    assert values == ["a", "b", "c"]
