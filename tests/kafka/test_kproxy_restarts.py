"""What a share group knows survives the sudden end of kproxy: members, epochs, configurations, delivery counts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.real_kafka import accounts, administration
from tests.real_kafka.accepter import QUICK_CLIENTS
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.mortal_kproxy import MortalKproxy
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS
from tests.real_kafka.share_member import AcknowledgeType, ReceivedRecord, ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS

RECORDS: Final = 10
LEAST_DELIVERY_LIMIT: Final = 2

every_client = pytest.mark.parametrize("client", MEMBER_KINDS)


@pytest.fixture(scope="module")
def mortal(reference_cluster: KafkaCluster) -> Iterator[MortalKproxy]:
    """A kproxy that the tests of this module kill; it lives whenever none of them kills it."""
    settings = {**QUICK_HEARTBEATS, "group.share.delivery.count.limit": LEAST_DELIVERY_LIMIT}
    with MortalKproxy(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.begin_life()
        kproxy.wait_until_ready()
        yield kproxy


@every_client
def test_members_go_on_with_the_epochs_they_have(
    mortal: MortalKproxy, reference_cluster: KafkaCluster, client: str
) -> None:
    # Given
    topic, group = _topic_and_group(mortal, reference_cluster)
    with _member(mortal, client, topic, group) as member:
        first = _accept_one(member, reference_cluster, topic)
        before = _epochs(mortal, group)

        # When
        _kill_and_start(mortal)

        # Then
        assert _accept_one(member, reference_cluster, topic) == first + 1
        assert _epochs(mortal, group) == before
        assert not logged_errors(mortal)


def test_a_heartbeat_with_the_epoch_from_before_is_answered_as_if_nothing_had_been(
    mortal: MortalKproxy, reference_cluster: KafkaCluster
) -> None:
    # Given
    topic, group = _topic_and_group(mortal, reference_cluster)
    with RawShareMember(mortal.broker_addresses[1], group=group, topic=topic) as member:
        joined = member.join()

    # When
    _kill_and_start(mortal)

    # Then
    with RawShareMember(mortal.broker_addresses[1], group=group, topic=topic) as member:
        request = ShareGroupHeartbeatRequest(
            group_id=group, member_id="raw-member", member_epoch=joined.member_epoch
        )
        answer = member.heartbeat(request)
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, joined.member_epoch)


@every_client
def test_delivery_counts_and_what_was_settled_survive(
    mortal: MortalKproxy, reference_cluster: KafkaCluster, client: str
) -> None:
    # Given
    topic, group = _topic_and_group(mortal, reference_cluster)
    administration.produce(reference_cluster.bootstrap_servers, topic, [f"{n}" for n in range(RECORDS)])
    with _member(mortal, client, topic, group) as member:
        records = _poll_all(member, RECORDS)
        for record in records:
            member.acknowledge([record], _by_offset(record))
        assert [outcome.error for outcome in member.commit()] == [None]
        member.kill()

    # When
    _kill_and_start(mortal)

    # Then
    with _member(mortal, client, topic, group) as member:
        released = _poll_all(member, RECORDS // 2)
        counts = accounts.counts_by_id(released)
        assert counts == {(0, offset): 2 for offset in range(0, RECORDS, 2)}
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        assert [outcome.error for outcome in member.commit()] == [None]


@every_client
def test_a_record_that_was_delivered_too_often_does_not_come_back(
    mortal: MortalKproxy, reference_cluster: KafkaCluster, client: str
) -> None:
    # Given
    topic, group = _topic_and_group(mortal, reference_cluster)
    administration.produce(reference_cluster.bootstrap_servers, topic, ["poison"])
    with _member(mortal, client, topic, group) as member:
        for _ in range(LEAST_DELIVERY_LIMIT):
            _poll_all(member, 1)
            member.acknowledge_all(AcknowledgeType.RELEASE)
            assert [outcome.error for outcome in member.commit()] == [None]

        # When
        _kill_and_start(mortal)

        # Then
        _accept_one(member, reference_cluster, topic)


def test_configurations_of_a_group_that_nobody_has_joined_yet_survive(
    mortal: MortalKproxy, reference_cluster: KafkaCluster
) -> None:
    # Given
    topic, group = _topic_and_group(mortal, reference_cluster)
    administration.produce(reference_cluster.bootstrap_servers, topic, ["from before the group"])

    # When
    _kill_and_start(mortal)

    # Then
    with _member(mortal, "confluent", topic, group) as member:
        assert [record.value for record in member.poll_until_records()] == ["from before the group"]
        member.acknowledge_all(AcknowledgeType.ACCEPT)


def _by_offset(record: ReceivedRecord) -> AcknowledgeType:
    """Release every second record, accept or reject the others."""
    if record.offset % 2 == 0:
        return AcknowledgeType.RELEASE
    return AcknowledgeType.ACCEPT if record.offset % 4 == 1 else AcknowledgeType.REJECT


def _topic_and_group(mortal: MortalKproxy, cluster: KafkaCluster) -> tuple[str, str]:
    topic = administration.create_topic(cluster.bootstrap_servers, unique_name("restarted"))
    group = unique_name("restarted")
    administration.set_group_settings(
        mortal.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"}
    )
    return topic, group


@contextmanager
def _member(mortal: MortalKproxy, client: str, topic: str, group: str) -> Iterator[ShareMember]:
    member = MEMBER_KINDS[client](
        mortal.bootstrap_servers, group=group, topics=[topic], settings=QUICK_CLIENTS[client]
    )
    try:
        yield member
    finally:
        member.kill()


def _kill_and_start(mortal: MortalKproxy) -> None:
    mortal.end_life()
    mortal.begin_life()
    mortal.wait_until_ready()


def _accept_one(member: ShareMember, cluster: KafkaCluster, topic: str) -> int:
    """Produce one record and accept it; its offset."""
    [offset] = administration.produce(cluster.bootstrap_servers, topic, ["one"])
    [record] = member.poll_until_records()
    assert record.offset == offset
    member.acknowledge_all(AcknowledgeType.ACCEPT)
    assert [outcome.error for outcome in member.commit()] == [None]
    return offset


def _poll_all(member: ShareMember, count: int) -> list[ReceivedRecord]:
    records = member.poll_until_records()
    assert len(records) == count, records
    return records


def _epochs(mortal: MortalKproxy, group: str) -> tuple[int, Mapping[str, Any]]:
    """The group's epoch, and each member's."""
    item = mortal.group_item(group)
    return item["groupEpoch"], {member["memberId"]: member["memberEpoch"] for member in item["members"]}
