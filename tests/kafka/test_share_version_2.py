"""What version 2 of ShareFetch and ShareAcknowledge adds, which Java's client alone speaks."""

import time
from typing import Final

from tests.real_kafka import accounts, administration
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.share_endpoint import KPROXY_QUICK_GROUPS, KPROXY_REFERENCE, EndpointsOfSession
from tests.real_kafka.share_member import AcknowledgeType

LOCK_MS: Final = 8_000
RENEWALS: Final = 3
RENEWAL_INTERVAL_SECONDS: Final = 3.0
"""Less than half a lock: three of them are longer than one."""


def test_with_a_record_limit_no_poll_gets_more_records_than_asked_for(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    produced = accounts.produce_to_every_partition(endpoint.bootstrap_servers, topic, each=20)
    settings = {"share.acquire.mode": "record_limit", "max.poll.records": "5"}
    with JavaShareMember(
        endpoint.bootstrap_servers, group=group, topics=[topic], settings=settings
    ) as member:
        polled = []

        # When
        for _ in range(4):
            polled.append(member.poll_until_records())
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            member.commit()

    # Then
    assert [len(records) for records in polled] == [5, 5, 5, 5]
    assert accounts.values_by_id(record for records in polled for record in records) == produced


def test_a_record_whose_lock_is_renewed_stays_with_its_member_for_longer_than_a_lock(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_QUICK_GROUPS)
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
