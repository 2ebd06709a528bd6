"""`Ground`: the cluster that all troubles share, a fleet that most of them share, and what they plant with."""

import contextlib
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.real_kafka.administration import (
    ANSWER_TIMEOUT_SECONDS,
    create_topic,
    set_group_settings,
    unique_name,
)
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_fleet import KproxyFleet
from tests.real_kafka.kproxy_process import KproxyPorts, KproxyProcess, state_topic_settings
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS, SHORT_LOCKS
from tests.troubles.wall import HOST, Wall

EVERYBODY_MAY: Final = {"allow.everyone.if.no.acl.found": "true"}
WITH_AN_AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    **EVERYBODY_MAY,
}
"""Of the brokers, so that a right can be taken away."""
QUICK: Final[dict[str, str | int]] = {**QUICK_HEARTBEATS, **SHORT_LOCKS, **EVERYBODY_MAY}
EARLIEST: Final = {"share.auto.offset.reset": "earliest"}
A_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Ground:
    """What runs for all troubles, one after the other."""

    cluster: KafkaCluster
    fleet: KproxyFleet

    def settings_of_a_fleet(self) -> dict[str, str | int]:
        """Return settings for a fleet that nobody else belongs to."""
        return {**QUICK, **state_topic_settings()}

    def start(
        self,
        settings: dict[str, str | int],
        count: int,
        stack: ExitStack,
        *,
        ports: KproxyPorts | None = None,
        wall: Wall | None = None,
        is_ready: bool = True,
        module: str = "kproxy",
    ) -> Sequence[KproxyProcess]:
        """Start so many kproxies until `stack` ends, behind `wall` if there is one; returns when they are ready."""
        servers = self.cluster.bootstrap_servers if wall is None else wall.address
        kproxies = [
            stack.enter_context(KproxyProcess(servers, settings=settings, ports=ports, module=module))
            for _ in range(count)
        ]
        for kproxy in kproxies:
            if is_ready:
                kproxy.wait_until_ready()
            else:
                kproxy.wait_until(kproxy.is_alive)
        return kproxies

    def wall(self, stack: ExitStack) -> Wall:
        """Return a wall in front of the broker; who begins there never gets round it."""
        ((_, port),) = self.cluster.proxied_addresses.values()
        ((host, _),) = self.cluster.proxied_addresses.values()
        return stack.enter_context(Wall((HOST, port), (host, port)))

    def deny(self, topic: str, operation: AclOperation) -> None:
        """Let nobody do this to a topic any more, and everybody all the rest."""
        lists = ((operation, AclPermissionType.DENY), (AclOperation.ALL, AclPermissionType.ALLOW))
        bindings = [
            AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:*", "*", each, how)
            for each, how in lists
        ]
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers})
        for made in admin.create_acls(bindings).values():
            made.result(ANSWER_TIMEOUT_SECONDS)

    def topic(self, count: int, *, minutes_old: int = 0, value: str = "order") -> str:
        """Return a new topic with so many records in its only partition, written so long ago."""
        brokers = self.cluster.bootstrap_servers
        topic = create_topic(brokers, unique_name("orders"))
        producer = Producer({"bootstrap.servers": brokers})
        written_ms = time.time_ns() // 1_000_000 - minutes_old * A_MINUTE_MS
        for _ in range(count):
            producer.produce(topic, value, partition=0, timestamp=written_ms)
        assert producer.flush(ANSWER_TIMEOUT_SECONDS) == 0
        return topic

    def group(self, kproxy: KproxyProcess, settings: dict[str, str] | None = None, *, name: str = "") -> str:
        """Return a new group that begins with the first record."""
        group = name or unique_name("workers")
        set_group_settings(kproxy.bootstrap_servers, group, {**EARLIEST, **(settings or {})})
        return group

    def member(
        self, kproxy: KproxyProcess, group: str, topic: str, stack: ExitStack, *, member_id: str = "worker-1"
    ) -> RawShareMember:
        """Return a member that has joined, and fetches when it is told to."""
        address = kproxy.broker_addresses[1]
        member = stack.enter_context(RawShareMember(address, group=group, topic=topic, member_id=member_id))
        member.join_until_assigned(partitions=1)
        stack.callback(_leave, member)
        return member


def acquired(member: RawShareMember) -> list[tuple[int, int, int]]:
    """Fetch until there are records; first and last offset and delivery count of each run."""
    while True:
        for partition in member.fetch():
            if partition.acquired_records:
                return [
                    (run.first_offset, run.last_offset, run.delivery_count)
                    for run in partition.acquired_records
                ]


def _leave(member: RawShareMember) -> None:
    """Let go of what it holds, if there is still somebody to tell: others look at the same fleet next."""
    with contextlib.suppress(OSError, EOFError, AssertionError):
        member.leave_group()
