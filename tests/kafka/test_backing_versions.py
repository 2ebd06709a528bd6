"""Clusters of the releases in which share groups became what they are: early access, preview, and just out.

Where the cluster's own share groups are off kproxy serves its own, from a group's first record to its deletion; where
they are on, in whatever state, it leaves them alone unless it is told otherwise.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.real_kafka import accounts, administration, tools
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.go_programs import GoShareMember
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.mortal_kproxy import MortalKproxy
from tests.real_kafka.node_settings import Settings
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS, ClusterOfSession
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import ConfluentShareMember, ShareMemberFactory
from tests.real_kafka.versions import (
    BEFORE_THE_REFERENCE,
    SHARE_GROUPS_AVAILABLE,
    SHARE_GROUPS_IN_EARLY_ACCESS,
    SHARE_GROUPS_IN_PREVIEW,
)

# Whichever is first fetches the jars of its release, formats storage with them, and builds the client in Go.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

CLOSE_TIMEOUT_MS = 20_000

EARLY_ACCESS: Settings = {
    "unstable.api.versions.enable": "true",
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "group.share.enable": "true",
}
"""What switches the share groups of 4.0 on."""

SERVING = {
    SHARE_GROUPS_AVAILABLE.version: {},
    SHARE_GROUPS_IN_PREVIEW.version: {},
    SHARE_GROUPS_IN_EARLY_ACCESS.version: EARLY_ACCESS,
}
"""The settings with which a broker of each version serves share groups itself."""


@dataclass(frozen=True, slots=True)
class Life:
    """A share group in front of which kproxy is killed and started again, and what its tools say."""

    kproxy: MortalKproxy
    cluster: KafkaCluster
    topic: str
    group: str

    def produce(self, *values: str) -> list[int]:
        """Records of partition 0, through kproxy."""
        return administration.produce(self.kproxy.bootstrap_servers, self.topic, values)

    def begin_at_the_earliest(self) -> None:
        """What kafka-configs sets of the group."""
        of_group = ["--entity-type", "groups", "--entity-name", self.group]
        earliest = ["--alter", "--add-config", "share.auto.offset.reset=earliest"]
        tools.config_command(self.kproxy.bootstrap_servers, *of_group, *earliest)

    def settle_with(
        self,
        start_member: ShareMemberFactory,
        *,
        release: Collection[int] = (),
        reject: Collection[int] = (),
    ) -> Mapping[int, int]:
        """Accept all records but these, without an error, and let kproxy begin again; delivery counts by offset."""
        servers = self.kproxy.bootstrap_servers
        with start_member(servers, group=self.group, topics=[self.topic]) as member:
            records = member.poll_until_records()
            for offsets, how in ((release, AcknowledgeType.RELEASE), (reject, AcknowledgeType.REJECT)):
                member.acknowledge([record for record in records if record.offset in offsets], how)
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            assert [outcome.error for outcome in member.commit()] == [None]
            member.close(timeout_ms=CLOSE_TIMEOUT_MS)
        self.begin_again()
        return {record.offset: record.delivery_count for record in records}

    def told(self, *arguments: str) -> list[list[str]]:
        """The words of each line that kafka-share-groups prints of the group."""
        result = tools.share_group_command(self.kproxy.bootstrap_servers, *arguments)
        return [line.split() for line in result.lines if self.group in line]

    def begin_again(self) -> None:
        """SIGKILL kproxy, and start it."""
        self.kproxy.end_life()
        self.kproxy.begin_life()
        self.kproxy.wait_until_ready()


@pytest.fixture
def life(kafka_cluster: ClusterOfSession, version: str) -> Iterator[Life]:
    cluster = kafka_cluster(version)
    with MortalKproxy(cluster.bootstrap_servers, settings=QUICK_HEARTBEATS) as kproxy:
        kproxy.begin_life()
        kproxy.wait_until_ready()
        topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("topic"))
        yield Life(kproxy, cluster, topic, unique_name("group"))


@pytest.mark.parametrize("version", [release.version for release in BEFORE_THE_REFERENCE])
def test_a_group_lives_from_its_first_record_over_the_death_of_kproxy_to_its_deletion(life: Life) -> None:
    """Settled by Java's client, librdkafka and franz-go in turn; kproxy is killed after each of them."""
    # Given
    life.begin_at_the_earliest()
    life.produce(*"abcdef")

    # When
    first = life.settle_with(JavaShareMember, release={1, 4}, reject={2})
    again = life.settle_with(ConfluentShareMember)
    settled = life.told("--describe", "--group", life.group)
    life.told("--reset-offsets", "--group", life.group, "--topic", life.topic, "--to-earliest", "--execute")
    from_the_beginning = life.settle_with(GoShareMember)
    listed = life.told("--list")
    life.told("--delete", "--group", life.group)
    life.begin_again()

    # Then
    assert first == dict.fromkeys(range(6), 1)
    assert again == {1: 2, 4: 2}
    # GROUP, TOPIC, PARTITION, START-OFFSET, LAG: the offset is that of before the last acknowledgement, as in Kafka.
    assert [(words[2], words[4]) for words in settled] == [("0", "0")]
    assert from_the_beginning == dict.fromkeys(range(6), 1)
    assert listed == [[life.group]]
    assert life.told("--list") == []
    assert logged_errors(life.kproxy) == []


@pytest.mark.parametrize("version", SERVING)
def test_kproxy_leaves_share_groups_to_a_cluster_that_serves_them_in_whatever_state(version: str) -> None:
    # When
    with _serving(version) as cluster, _running(cluster) as kproxy:
        topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("topic"))
        administration.produce(kproxy.bootstrap_servers, topic, "abc")

        # Then
        assert administration.consume(kproxy.bootstrap_servers, topic, 3) == ["a", "b", "c"]
        status = kproxy.status()
    assert status["shareGroups"]["enabled"] is False
    assert "serves share groups itself" in status["shareGroups"]["reason"]


@pytest.mark.parametrize("version", SERVING)
def test_kproxy_that_is_told_to_serves_groups_of_its_own_beside_those_of_the_cluster(version: str) -> None:
    # Given
    with (
        _serving(version) as cluster,
        _running(cluster, {"kproxy.share.upstream": "shadow"}) as kproxy,
    ):
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
    assert values == ["a", "b", "c"]


@contextmanager
def _serving(version: str) -> Iterator[KafkaCluster]:
    settings = SERVING[version]
    with KafkaCluster(version, share_groups=not settings, broker_settings=settings) as cluster:
        yield cluster


@contextmanager
def _running(cluster: KafkaCluster, settings: Settings | None = None) -> Iterator[KproxyProcess]:
    with KproxyProcess(cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy
