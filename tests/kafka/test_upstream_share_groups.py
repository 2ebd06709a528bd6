"""A backing cluster that serves share groups itself: kproxy does not shadow it unless it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from tests.real_kafka import accounts, administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.session_clusters import ClusterOfSession
from tests.real_kafka.share_members import ConfluentShareMember
from tests.real_kafka.versions import EVERYDAY_RELEASES, PINNED_RELEASES

SHARE_KEYS: Final = {76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92}
SERVED_VERSIONS: Final = {
    76: (1, 1),
    77: (1, 1),
    78: (1, 2),
    79: (1, 2),
    90: (0, 1),
    91: (0, 0),
    92: (0, 0),
}


@pytest.fixture(scope="module")
def serving_cluster(kafka_cluster: ClusterOfSession) -> KafkaCluster:
    """One broker of the reference version that serves share groups."""
    return kafka_cluster(share_groups=True)


@contextmanager
def running_kproxy(cluster: KafkaCluster, **settings: str) -> Iterator[KproxyProcess]:
    dotted = {key.replace("_", "."): value for key, value in settings.items()}
    with KproxyProcess(cluster.bootstrap_servers, settings=dotted) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


def test_kproxy_refuses_to_shadow_a_cluster_with_share_groups_and_says_why(
    serving_cluster: KafkaCluster,
) -> None:
    # When
    with running_kproxy(serving_cluster) as kproxy:
        # Then
        line, status = kproxy.start_line(), kproxy.status()
        [logged] = kproxy.log_events("ready")
        advertised = share_versions(kproxy.bootstrap_servers)
    assert "share groups off" in line
    assert "serves share groups itself" in line
    assert "kproxy.share.upstream=shadow" in line
    assert status["shareGroups"]["enabled"] is False
    assert "serves share groups itself" in status["shareGroups"]["reason"]
    assert logged["share_groups"].startswith("off (the backing cluster serves share groups itself")
    assert advertised == {}


def test_kproxy_that_refuses_to_shadow_relays_everything_else(serving_cluster: KafkaCluster) -> None:
    # Given
    with running_kproxy(serving_cluster) as kproxy:
        topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("topic"))

        # When
        administration.produce(kproxy.bootstrap_servers, topic, "abc")

        # Then
        assert administration.consume(kproxy.bootstrap_servers, topic, 3) == ["a", "b", "c"]


def test_share_keys_of_group_configs_go_to_the_cluster_when_kproxy_does_not_serve_them(
    serving_cluster: KafkaCluster,
) -> None:
    # Given
    topic = administration.create_topic(serving_cluster.bootstrap_servers, unique_name("topic"))
    group = unique_name("group")
    administration.produce(serving_cluster.bootstrap_servers, topic, "abc")
    with running_kproxy(serving_cluster) as kproxy:
        # When
        administration.set_group_settings(
            kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"}
        )

    # Then
    with ConfluentShareMember(serving_cluster.bootstrap_servers, group=group, topics=[topic]) as member:
        assert accounts.receive_values(member, 3) == ["a", "b", "c"]


def test_kproxy_told_to_shadow_serves_share_groups_of_its_own(serving_cluster: KafkaCluster) -> None:
    # Given
    with running_kproxy(serving_cluster, kproxy_share_upstream="shadow") as kproxy:
        topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("topic"))
        group = unique_name("group")
        administration.set_group_settings(
            kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"}
        )
        administration.produce(kproxy.bootstrap_servers, topic, "abc")

        # When
        with ConfluentShareMember(kproxy.bootstrap_servers, group=group, topics=[topic]) as member:
            values = accounts.receive_values(member, 3)

        # Then
        line, status = kproxy.start_line(), kproxy.status()
        advertised = share_versions(kproxy.bootstrap_servers)
        deliveries = kproxy.metrics().value("kproxy_share_deliveries_total", first="true")
    assert values == ["a", "b", "c"]
    assert "share groups on" in line
    assert status["shareGroups"]["enabled"] is True
    assert advertised == SERVED_VERSIONS
    assert deliveries == 3


@pytest.mark.parametrize(
    "version",
    [
        release.version if release in EVERYDAY_RELEASES else for_soak(release.version)
        for release in PINNED_RELEASES
    ],
)
def test_kproxy_serves_share_groups_where_the_cluster_does_not(
    kafka_cluster: ClusterOfSession, version: str
) -> None:
    # Given
    cluster = kafka_cluster(version)

    # When
    with running_kproxy(cluster) as kproxy:
        # Then
        line, status = kproxy.start_line(), kproxy.status()
        advertised = share_versions(kproxy.bootstrap_servers)
    assert line.endswith("share groups on")
    assert status["shareGroups"] == {
        "enabled": True,
        "state": "on",
        "reason": "",
        "deliveryCountLimit": 5,
        "authorizedBy": "none",
    }
    assert advertised == SERVED_VERSIONS


def share_versions(address: str) -> dict[int, tuple[int, int]]:
    """Lowest and highest version of each API of KIP-932 that is advertised."""
    request = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
    with RawConnection(address) as connection:
        answer = connection.ask(ApiKey.API_VERSIONS, 3, request, ApiVersionsResponse)
    return {
        api.api_key: (api.min_version, api.max_version)
        for api in answer.api_keys
        if api.api_key in SHARE_KEYS
    }
