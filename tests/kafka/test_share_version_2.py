"""What version 2 of ShareFetch and ShareAcknowledge adds, which Java's client and franz-go speak."""

import time
from typing import Final

import pytest

from tests.real_kafka import accounts, administration
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.go_programs import GoShareMember
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.share_endpoint import (
    KPROXY_QUICK_GROUPS,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    EndpointsOfSession,
)
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import ShareMemberFactory

LOCK_MS: Final = 8_500
RENEWALS: Final = 5
RENEWAL_INTERVAL_SECONDS: Final = 1.8
"""So much less than a lock that a busy machine is late for none; all of them together are longer than one."""


@pytest.mark.parametrize(
    ("behind", "start_member"),
    [
        (KPROXY_REFERENCE, JavaShareMember),
        for_soak(KPROXY_REFERENCE, GoShareMember),
        (NATIVE, JavaShareMember),
        for_soak(NATIVE, GoShareMember),
        for_soak(KPROXY_WITHOUT_SHARE_GROUPS, JavaShareMember),
        for_soak(KPROXY_WITHOUT_SHARE_GROUPS, GoShareMember),
    ],
)
def test_with_a_record_limit_no_poll_gets_more_records_than_asked_for(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    produced = accounts.produce_to_every_partition(endpoint.bootstrap_servers, topic, each=20)
    settings = {"share.acquire.mode": "record_limit", "max.poll.records": "5"}
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic], settings=settings) as member:
        polled = []

        # When
        for _ in range(4):
            polled.append(member.poll_until_records())
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            member.commit()

    # Then
    assert [len(records) for records in polled] == [5, 5, 5, 5]
    assert accounts.values_by_id(record for records in polled for record in records) == produced


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, NATIVE, for_soak(KPROXY_WITHOUT_SHARE_GROUPS)])
def test_with_a_record_limit_of_one_two_members_take_turns_at_the_records_of_one_batch(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, "abcdef")
    settings = {"share.acquire.mode": "record_limit", "max.poll.records": "1"}
    with (
        JavaShareMember(endpoint.bootstrap_servers, group=group, topics=[topic], settings=settings) as one,
        JavaShareMember(
            endpoint.bootstrap_servers, group=group, topics=[topic], settings=settings
        ) as another,
    ):
        # When
        polled = []
        for _ in range(3):
            polled += [(member, member.poll_until_records()) for member in (one, another)]
            one.acknowledge_all(AcknowledgeType.ACCEPT)
            another.acknowledge_all(AcknowledgeType.ACCEPT)

    # Then
    assert [member for member, _ in polled] == [one, another] * 3
    # Both ask at the same time, so either may get the earlier one of two.
    assert sorted([record.value for record in records] for _, records in polled) == [
        [value] for value in "abcdef"
    ]
    assert {record.delivery_count for _, records in polled for record in records} == {1}


@pytest.mark.parametrize("behind", [KPROXY_QUICK_GROUPS, NATIVE])
def test_a_record_whose_lock_is_renewed_stays_with_its_member_for_longer_than_a_lock(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group(lock_ms=LOCK_MS)
    administration.produce(endpoint.bootstrap_servers, topic, "abc")
    with JavaShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        records = member.poll_until_records()

        # When
        errors = []
        for _ in range(RENEWALS):
            # Nothing tells that time has passed but time itself.
            time.sleep(RENEWAL_INTERVAL_SECONDS)
            member.acknowledge(records, AcknowledgeType.RENEW)
            errors += [outcome.error for outcome in member.commit()]
            records = member.poll_until_records()

        # Then
        member.acknowledge(records, AcknowledgeType.ACCEPT)
        errors += [outcome.error for outcome in member.commit()]
    assert accounts.counts_by_id(records) == {(0, 0): 1, (0, 1): 1, (0, 2): 1}
    assert errors == [None] * (RENEWALS + 1)
    received, last = accounts.received_after_the_end(
        JavaShareMember, endpoint.bootstrap_servers, group=group, topic=topic
    )
    assert received == last


@pytest.mark.parametrize("behind", [for_soak(KPROXY_QUICK_GROUPS), for_soak(NATIVE)])
def test_a_go_member_renews_locks_and_has_its_records_to_itself_meanwhile(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group(lock_ms=LOCK_MS)
    administration.produce(endpoint.bootstrap_servers, topic, "abc")
    with GoShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        records = member.poll_until_records()
        # This client joins and fetches as soon as it is there.
        with GoShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as waiting:
            # When
            errors, taken = [], []
            for _ in range(RENEWALS):
                taken += waiting.poll(timeout_ms=int(RENEWAL_INTERVAL_SECONDS * 1000))
                member.acknowledge(records, AcknowledgeType.RENEW)
                errors += [outcome.error for outcome in member.commit()]

            # Then
            member.acknowledge(records, AcknowledgeType.ACCEPT)
            errors += [outcome.error for outcome in member.commit()]
    assert taken == []
    assert errors == [None] * (RENEWALS + 1)
