"""No partition stands still: whoever starts, leaves or dies, its partitions are with somebody at once.

Heartbeats are 15 s apart, which is the most there is, and sessions last 45 s; what is asserted here takes less than
either, also on a busy machine.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final

import pytest
from confluent_kafka import ShareConsumer

from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.share_endpoint import KPROXY_REFERENCE, EndpointsOfSession, ShareEndpoint
from tests.real_kafka.share_member import AcknowledgeType, ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS, ShareMemberFactory

PARTITIONS: Final = 4
MEMBERS: Final = 8
HEARTBEAT_INTERVAL_MS: Final = 15_000
AT_ONCE_SECONDS: Final = 8.0
"""Half of the time between two heartbeats: who is told with its own is told later, as a rule."""
JOIN_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.05

every_client = pytest.mark.parametrize("start_member", MEMBER_KINDS.values(), ids=MEMBER_KINDS)


def new_group(endpoint: ShareEndpoint) -> str:
    """A group whose members say little of themselves."""
    group = endpoint.new_group()
    settings = {"share.heartbeat.interval.ms": str(HEARTBEAT_INTERVAL_MS)}
    administration.set_group_settings(endpoint.bootstrap_servers, group, settings)
    return group


def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    """Whether it is so before `seconds` are over."""
    deadline = time.monotonic() + seconds
    while not (holds := is_so()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds


def test_members_that_start_together_share_at_once(share_endpoint: EndpointsOfSession) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    topic, group = endpoint.new_topic(partitions=PARTITIONS), new_group(endpoint)
    settings = {"bootstrap.servers": endpoint.bootstrap_servers, "group.id": group, "log_level": 3}
    consumers = [ShareConsumer(settings) for _ in range(MEMBERS)]

    # When
    for consumer in consumers:
        consumer.subscribe([topic])
    fair = sorted([(number,) for number in range(PARTITIONS)] * 2)
    assert endpoint.kproxy is not None
    told = endpoint.kproxy.assignments
    all_know = within(JOIN_SECONDS, lambda: len(told(group)) == MEMBERS)
    is_fair = within(AT_ONCE_SECONDS, lambda: told(group) == fair)

    # Then
    assert all_know
    assert is_fair, told(group)
    # Closed while it asks for the leaders of its first assignment, librdkafka 2.16 waits for ever to let go of it.
    assert within(JOIN_SECONDS, lambda: sessions_of(consumers, endpoint, group) == MEMBERS)
    for consumer in consumers:
        consumer.close()


def sessions_of(consumers: Sequence[ShareConsumer], endpoint: ShareEndpoint, group: str) -> int:
    """How many members of the group have fetched, after each of these has polled."""
    for consumer in consumers:
        consumer.poll(timeout=POLL_SECONDS)
    assert endpoint.kproxy is not None
    return len(endpoint.kproxy.sessions(group))


@every_client
def test_what_a_member_leaves_behind_is_consumed_by_another_at_once(
    share_endpoint: EndpointsOfSession, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    with ExitStack() as running:
        first, second, topic = two_members(endpoint, start_member, running)

        # When
        first.close()
        produce_to_each_partition(endpoint, topic)
        seen = partitions_polled(second, seconds=AT_ONCE_SECONDS)

    # Then
    assert seen == set(range(PARTITIONS))


@every_client
def test_the_partitions_of_a_killed_member_are_consumed_by_another_at_once(
    share_endpoint: EndpointsOfSession, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    with ExitStack() as running:
        first, second, topic = two_members(endpoint, start_member, running)

        # When
        first.kill()
        produce_to_each_partition(endpoint, topic)
        seen = partitions_polled(second, seconds=AT_ONCE_SECONDS)

    # Then
    assert seen == set(range(PARTITIONS))


def two_members(
    endpoint: ShareEndpoint, start_member: ShareMemberFactory, running: ExitStack
) -> tuple[ShareMember, ShareMember, str]:
    """Two members with two partitions each, and their topic."""
    topic = administration.create_topic(
        endpoint.bootstrap_servers, unique_name("topic"), partitions=PARTITIONS
    )
    group = new_group(endpoint)
    first, second = (
        running.enter_context(start_member(endpoint.bootstrap_servers, group=group, topics=[topic]))
        for _ in range(2)
    )
    first.poll()
    second.poll()
    assert endpoint.kproxy is not None
    told = endpoint.kproxy.assignments
    assert within(JOIN_SECONDS, lambda: len(told(group)) == len((first, second)))
    assert within(AT_ONCE_SECONDS, lambda: [len(held) for held in told(group)] == [2, 2])
    return first, second, topic


def produce_to_each_partition(endpoint: ShareEndpoint, topic: str) -> None:
    for partition in range(PARTITIONS):
        administration.produce(endpoint.bootstrap_servers, topic, "a", partition=partition)


def partitions_polled(member: ShareMember, *, seconds: float) -> set[int]:
    """From which partitions the member polls records before `seconds` are over; it stops when it has all."""
    seen: set[int] = set()
    deadline = time.monotonic() + seconds
    while len(seen) < PARTITIONS and time.monotonic() < deadline:
        seen |= {record.partition for record in member.poll(timeout_ms=100)}
        member.acknowledge_all(AcknowledgeType.ACCEPT)
    return seen
