"""What a share group does about topics that come, grow, and go while its members run."""

from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.real_kafka import accounts, administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.everyday import clients_behind
from tests.real_kafka.share_endpoint import (
    KPROXY_QUICK_GROUPS,
    KPROXY_REFERENCE,
    NATIVE,
    EndpointsOfSession,
)
from tests.real_kafka.share_members import MEMBER_KINDS, ShareMemberFactory

TIMEOUT_SECONDS: Final = 60.0
POLLS: Final = 60
"""Of half a second each: a few heartbeats."""

CREATES_NO_TOPIC: Final = {"java": {"allow.auto.create.topics": "false"}, "confluent": {}}
"""Client settings: Java's would create a topic by asking for it."""

every_client = pytest.mark.parametrize("start_member", MEMBER_KINDS.values(), ids=MEMBER_KINDS)


@pytest.mark.parametrize("client", MEMBER_KINDS)
def test_a_topic_that_is_created_after_the_subscription_is_consumed(
    share_endpoint: EndpointsOfSession, client: str
) -> None:
    # Given
    endpoint, later_topic = share_endpoint(KPROXY_REFERENCE), unique_name("later")
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, ["of the topic that is there"])
    with MEMBER_KINDS[client](
        endpoint.bootstrap_servers,
        group=group,
        topics=[topic, later_topic],
        settings=CREATES_NO_TOPIC[client],
    ) as member:
        joined = accounts.receive_values(member, 1)

        # When
        administration.create_topic(endpoint.bootstrap_servers, later_topic)

        # Then
        administration.produce(endpoint.bootstrap_servers, later_topic, "abc")
        received = accounts.receive_values(member, 3, polls=POLLS)
    assert joined == ["of the topic that is there"]
    assert received == ["a", "b", "c"]


@clients_behind(KPROXY_QUICK_GROUPS, NATIVE)
def test_partitions_that_are_added_to_a_topic_are_consumed(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, ["of the first partition"])
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        joined = accounts.receive_values(member, 1)

        # When
        admin = AdminClient({"bootstrap.servers": endpoint.bootstrap_servers})
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(TIMEOUT_SECONDS)

        # Then
        administration.produce(endpoint.bootstrap_servers, topic, "abc", partition=2)
        received = accounts.receive_values(member, 3, polls=POLLS)
    assert joined == ["of the first partition"]
    assert received == ["a", "b", "c"]


@every_client
def test_a_topic_that_is_deleted_and_created_anew_begins_anew(
    share_endpoint: EndpointsOfSession, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, "abc")
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        first = accounts.receive_values(member, 3)
        admin = AdminClient({"bootstrap.servers": endpoint.bootstrap_servers})
        admin.delete_topics([topic])[topic].result(TIMEOUT_SECONDS)

        # When
        administration.create_topic(endpoint.bootstrap_servers, topic)

        # Then
        administration.produce(endpoint.bootstrap_servers, topic, "xyz")
        again = accounts.receive_values(member, 3, polls=POLLS)
    assert first == ["a", "b", "c"]
    assert again == ["x", "y", "z"]
