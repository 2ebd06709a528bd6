"""Topics that are deleted, grow, or lose records: share groups notice within a second, whoever did it.

The deadline here is far above that second, so that a busy machine fails no test, and far below
`metadata.max.age.ms`, which is left at its 5 minutes. How long it took is printed (`pytest -s`).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.real_kafka import administration
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_OLDEST_QUICK_GROUPS,
    KPROXY_QUICK_GROUPS,
    KPROXY_REFERENCE,
    KPROXY_THREE_BROKERS,
    EndpointsOfSession,
    ShareEndpoint,
)

DEADLINE_SECONDS: Final = 30.0
SETTLED_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.05
ACCEPT: Final = 1
MEMBER_ID: Final = "raw-member"
RECORDS: Final = 400
GONE: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})

every_version = pytest.mark.parametrize("behind", [KPROXY_REFERENCE, KPROXY_OLDEST])
every_way = pytest.mark.parametrize("way", ["through-kproxy", "at-the-broker"])


def admin_of(endpoint: ShareEndpoint, way: str) -> AdminClient:
    """A client that changes topics in one way or the other."""
    is_through_kproxy = way == "through-kproxy"
    address = endpoint.bootstrap_servers if is_through_kproxy else endpoint.cluster.bootstrap_servers
    return AdminClient({"bootstrap.servers": address})


@dataclass(frozen=True, slots=True)
class Looks:
    """How many looks at the cluster there were, by what came of them."""

    different: float
    same: float


def seconds_until(
    is_so: Callable[[], bool], what: str, *, deadline_seconds: float = DEADLINE_SECONDS
) -> float:
    """How long it took until it was so; fails at the deadline."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < deadline_seconds, f"{what}: not within {deadline_seconds} s"
        time.sleep(PAUSE_SECONDS)
    elapsed = time.monotonic() - began
    print(f"{what}: noticed after {elapsed * 1000:.0f} ms")
    return elapsed


class Scene:
    """A member of a group of its own that holds all records of a topic with one partition."""

    def __init__(self, endpoint: ShareEndpoint, member: RawShareMember, *, topic: str, group: str) -> None:
        self.endpoint, self.member, self.topic, self.group = endpoint, member, topic, group
        self._member_epoch = member.join().member_epoch
        self._assigned: list[int] = []
        self._next_offset = 0
        member.fetch_until_acquired(max_wait_ms=5_000)

    def assigned_partitions(self) -> list[int]:
        """The partitions that the member has been told of, after one more heartbeat."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group, member_id=MEMBER_ID, member_epoch=self._member_epoch
        )
        response = self.member.heartbeat(request)
        assert response.error_code == ErrorCode.NONE, response
        self._member_epoch = response.member_epoch
        if response.assignment is not None:
            topics = response.assignment.topic_partitions
            self._assigned = [partition for topic in topics for partition in topic.partitions]
        return self._assigned

    def accept_one(self) -> int:
        """The error code that the next record's acknowledgement is answered with."""
        offset, self._next_offset = self._next_offset, self._next_offset + 1
        return self.member.acknowledge(offset, offset, ACCEPT)


@contextmanager
def a_member_with_records(endpoint: ShareEndpoint) -> Iterator[Scene]:
    topic, group = endpoint.new_topic(), endpoint.new_group()
    # It says nothing while it fetches, and while topics change.
    administration.set_group_settings(
        endpoint.bootstrap_servers, group, {"share.session.timeout.ms": "45000"}
    )
    administration.produce(endpoint.bootstrap_servers, topic, [str(number) for number in range(RECORDS)])
    assert endpoint.kproxy is not None
    [address] = endpoint.kproxy.broker_addresses.values()
    with RawShareMember(address, group=group, topic=topic, member_id=MEMBER_ID) as member:
        yield Scene(endpoint, member, topic=topic, group=group)


@every_version
@every_way
def test_acknowledgements_for_a_topic_that_was_deleted_are_refused(
    share_endpoint: EndpointsOfSession, behind: str, way: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    with a_member_with_records(endpoint) as scene:
        assert scene.accept_one() == ErrorCode.NONE

        # When
        admin = admin_of(endpoint, way)
        admin.delete_topics([scene.topic])[scene.topic].result(ANSWER_SECONDS)

        # Then
        seconds_until(lambda: scene.accept_one() in GONE, f"deletion {way} on {behind}")
        assert scene.accept_one() in GONE


@pytest.mark.parametrize("behind", [KPROXY_QUICK_GROUPS, KPROXY_OLDEST_QUICK_GROUPS])
@every_way
def test_members_are_assigned_partitions_that_were_added_with_their_next_heartbeats(
    share_endpoint: EndpointsOfSession, behind: str, way: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    with a_member_with_records(endpoint) as scene:
        # When
        admin = admin_of(endpoint, way)
        admin.create_partitions([NewPartitions(scene.topic, 3)])[scene.topic].result(ANSWER_SECONDS)

        # Then
        seconds_until(lambda: scene.assigned_partitions() == [0, 1, 2], f"partitions {way} on {behind}")


@pytest.mark.parametrize("way", ["through-kproxy", "at-the-broker"])
def test_a_topic_that_was_deleted_is_taken_from_its_members_with_their_next_heartbeats(
    share_endpoint: EndpointsOfSession, way: str
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_QUICK_GROUPS)
    with a_member_with_records(endpoint) as scene:
        # When
        admin = admin_of(endpoint, way)
        admin.delete_topics([scene.topic])[scene.topic].result(ANSWER_SECONDS)

        # Then
        is_told = [False]

        def is_taken() -> bool:
            is_told[0] |= scene.assigned_partitions() == []
            return is_told[0] and scene.accept_one() in GONE

        seconds_until(is_taken, f"assignment {way}")


def test_the_start_offset_follows_records_that_were_deleted_through_kproxy(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    with a_member_with_records(endpoint) as scene:
        assert endpoint.kproxy is not None
        kproxy = endpoint.kproxy

        def start_offset() -> int:
            [live] = kproxy.group_item(scene.group)["sharePartitions"]
            return int(live["startOffset"])

        assert start_offset() == 0

        # When
        admin = admin_of(endpoint, "through-kproxy")
        [deleted] = admin.delete_records([TopicPartition(scene.topic, 0, 7)]).values()
        deleted.result(ANSWER_SECONDS)

        # Then
        seconds_until(lambda: start_offset() == 7, "records deleted through kproxy")


@pytest.mark.parametrize("behind", [KPROXY_THREE_BROKERS, KPROXY_OLDEST])
def test_looks_at_a_cluster_in_which_nothing_changes_are_not_read(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    """Kafka tells the same in the same bytes, apart from the controller.

    What other tests left behind may still change: what counts is that it ends.
    """
    # Given
    endpoint = share_endpoint(behind)
    topics = [endpoint.new_topic(partitions=10, replicas=len(endpoint.cluster.node_ids)) for _ in range(3)]
    assert endpoint.kproxy is not None
    kproxy = endpoint.kproxy
    address = kproxy.bootstrap_servers  # which stands for the coordinator of any group

    def looks(result: str) -> float:
        return kproxy.metrics().value("kproxy_metadata_looks_total", result=result)

    with ExitStack() as members:
        for topic in topics:
            member = RawShareMember(address, group=endpoint.new_group(), topic=topic)
            members.enter_context(member).join()
        since = Looks(looks("different"), looks("same"))

        def are_three_without_news() -> bool:
            nonlocal since
            if looks("different") > since.different:
                since = Looks(looks("different"), looks("same"))
            return looks("same") >= since.same + 3

        # When
        seconds_until(are_three_without_news, "three looks without news", deadline_seconds=SETTLED_SECONDS)

        # Then
        assert looks("different") == since.different
