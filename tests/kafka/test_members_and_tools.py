"""The harness itself: members of share groups and Kafka's tools, against brokers that serve share groups."""

from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from tests.real_kafka import administration, tools
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.consumption import consume_together, release_first_delivery_of_every, settled
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.session_clusters import ClusterOfSession
from tests.real_kafka.share_member import AcknowledgeType, MemberError
from tests.real_kafka.share_members import MEMBER_KINDS, ConfluentShareMember
from tests.real_kafka.tools import JsonEvent


@pytest.fixture(scope="module")
def share_cluster(kafka_cluster: ClusterOfSession) -> KafkaCluster:
    return kafka_cluster(share_groups=True)


@pytest.mark.parametrize("kind", MEMBER_KINDS)
def test_a_released_record_comes_again_and_the_others_do_not(kind: str, share_cluster: KafkaCluster) -> None:
    # Given
    topic, group = _topic_for_a_share_group(share_cluster, values=["a", "b", "c", "d"])
    with MEMBER_KINDS[kind](share_cluster.bootstrap_servers, group=group, topics=[topic]) as member:
        first = member.poll_until_records()
        member.acknowledge(first[:2], AcknowledgeType.ACCEPT)
        member.acknowledge(first[2:3], AcknowledgeType.RELEASE)
        member.acknowledge(first[3:], AcknowledgeType.REJECT)
        outcomes = member.commit()

        # When
        second = member.poll_until_records()

        # Then
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        assert [(record.offset, record.value, record.delivery_count) for record in first] == [
            (0, "a", 1),
            (1, "b", 1),
            (2, "c", 1),
            (3, "d", 1),
        ]
        assert [outcome.error for outcome in outcomes] == [None]
        assert [(answer.offsets, answer.error) for answer in member.answered] == [((0, 1, 2, 3), None)]
        assert [(record.offset, record.value, record.delivery_count) for record in second] == [(2, "c", 2)]


@pytest.mark.parametrize("kind", MEMBER_KINDS)
def test_a_member_that_polls_with_records_left_over_is_told_and_goes_on(
    kind: str, share_cluster: KafkaCluster
) -> None:
    # Given
    topic, group = _topic_for_a_share_group(share_cluster, values=["a"])
    with MEMBER_KINDS[kind](share_cluster.bootstrap_servers, group=group, topics=[topic]) as member:
        member.poll_until_records()

        # When
        with pytest.raises(MemberError) as refusal:
            member.poll()

        # Then
        assert refusal.value.error == "IllegalStateException"
        assert member.acknowledge_all(AcknowledgeType.ACCEPT) == 1
        assert [outcome.error for outcome in member.commit()] == [None]


def test_a_java_member_renews_what_it_holds(share_cluster: KafkaCluster) -> None:
    # Given
    topic, group = _topic_for_a_share_group(share_cluster, values=["slow work"])
    with JavaShareMember(share_cluster.bootstrap_servers, group=group, topics=[topic]) as member:
        held = member.poll_until_records()

        # When
        member.acknowledge(held, AcknowledgeType.RENEW)
        outcomes = member.commit()

        # Then
        again = member.poll_until_records()
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        assert [outcome.error for outcome in outcomes] == [None]
        assert [(record.value, record.delivery_count) for record in again] == [("slow work", 1)]


def test_members_of_both_clients_share_a_topic_by_a_rule(share_cluster: KafkaCluster) -> None:
    # Given
    topic, group = _topic_for_a_share_group(share_cluster, values=[str(number) for number in range(200)])
    with ExitStack() as members:
        both = [
            members.enter_context(kind(share_cluster.bootstrap_servers, group=group, topics=[topic]))
            for kind in (ConfluentShareMember, JavaShareMember)
        ]

        # When
        deliveries = consume_together(both, release_first_delivery_of_every(50), until=settled(200))

    # Then
    accepted = [delivery.record.offset for delivery in deliveries if delivery.how is AcknowledgeType.ACCEPT]
    released = [delivery.record.offset for delivery in deliveries if delivery.how is AcknowledgeType.RELEASE]
    assert sorted(accepted) == list(range(200))
    assert sorted(released) == [0, 50, 100, 150]
    assert {delivery.error for delivery in deliveries} == {None}


def test_kafkas_own_tools_run_and_tell(share_cluster: KafkaCluster) -> None:
    # Given
    bootstrap, topic, group = share_cluster.bootstrap_servers, unique_name("tools"), unique_name("group")
    tools.topic_command(bootstrap, "--create", "--topic", topic, "--partitions", "1")
    tools.console_producer(bootstrap, topic, ["first", "second"])

    # When
    with tools.VerifiableShareConsumer(bootstrap, topic=topic, group=group) as consumer:
        events = consumer.events_until(_ends_with_an_acknowledgement)
    with tools.console_consumer(bootstrap, topic, max_messages=2) as plain:
        result = plain.finish()

    # Then
    assert [event["value"] for event in events if event["name"] == "record_data"] == ["first", "second"]
    assert events[-1]["success"] is True
    assert result.lines == ("first", "second")


def _topic_for_a_share_group(cluster: KafkaCluster, *, values: list[str]) -> tuple[str, str]:
    bootstrap = cluster.bootstrap_servers
    topic, group = administration.create_topic(bootstrap, unique_name("shared")), unique_name("group")
    administration.produce(bootstrap, topic, values)
    administration.set_group_settings(bootstrap, group, {"share.auto.offset.reset": "earliest"})
    return topic, group


def _ends_with_an_acknowledgement(events: Sequence[JsonEvent]) -> bool:
    return len(events) > 0 and events[-1]["name"] == "offsets_acknowledged"
