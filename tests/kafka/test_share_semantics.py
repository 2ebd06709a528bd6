"""What a share consumer can rely on, one rule of KIP-932 a test, with both clients through kproxy.

`native` runs the same test on a stock broker's own share groups, as the reference.
"""

import functools
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest

from tests.real_kafka import accounts, administration
from tests.real_kafka.accounts import RecordId, counts_by_id, received_after_the_end, values_by_id
from tests.real_kafka.consumption import accept, consume_together, settled
from tests.real_kafka.everyday import clients_behind, for_soak
from tests.real_kafka.share_endpoint import (
    BRIEF_LOCK_MS,
    KPROXY_CONSTRUCT,
    KPROXY_QUICK_GROUPS,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    KPROXY_WITHOUT_SHARE_GROUPS_QUICK_GROUPS,
    LONG_LOCK_MS,
    NATIVE,
    SHORT_LOCK_MS,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_member import AcknowledgeType, CommitOutcome, ReceivedRecord, ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS, ShareMemberFactory

SOON_SECONDS: Final = 20.0
"""Far less than a lock of `LONG_LOCK_MS`, and more than a busy machine adds to what happens at once."""
MOST_ROUNDS: Final = 30

every_client_everywhere = clients_behind(
    KPROXY_REFERENCE, NATIVE, KPROXY_WITHOUT_SHARE_GROUPS, KPROXY_CONSTRUCT
)
"""For the basic rules: on a stock broker as well, and with the codecs that are the reference."""
every_client_through_kproxy = clients_behind(KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS)


@every_client_everywhere
def test_a_released_record_is_delivered_again_with_a_higher_count(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, "abcdef")
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        first = member.poll_until_records()
        member.acknowledge([record for record in first if record.offset in {1, 4}], AcknowledgeType.RELEASE)
        member.acknowledge_all(AcknowledgeType.ACCEPT)

        # When
        outcomes = member.commit()

        # Then
        again = member.poll_until_records()
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        outcomes_again = member.commit()
    assert counts_by_id(first) == {(0, 0): 1, (0, 1): 1, (0, 2): 1, (0, 3): 1, (0, 4): 1, (0, 5): 1}
    assert _errors(outcomes) == _errors(outcomes_again) == [None]
    assert counts_by_id(again) == {(0, 1): 2, (0, 4): 2}
    assert values_by_id(again) == {(0, 1): "b", (0, 4): "e"}


@every_client_through_kproxy
def test_a_rejected_record_is_never_delivered_again(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, "abcdef")
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        records = member.poll_until_records()
        member.acknowledge([records[2]], AcknowledgeType.REJECT)
        member.acknowledge_all(AcknowledgeType.ACCEPT)

        # When
        outcomes = member.commit()

    # Then
    assert _errors(outcomes) == [None]
    received, last = received_after_the_end(
        start_member, endpoint.bootstrap_servers, group=group, topic=topic
    )
    assert received == last


@every_client_through_kproxy
def test_a_record_released_at_its_fifth_delivery_is_delivered_no_more(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, ["never wanted"])
    counts: list[int] = []

    # When
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        for _ in range(5):
            counts += counts_by_id(member.poll_until_records()).values()
            member.acknowledge_all(AcknowledgeType.RELEASE)
            member.commit()

    # Then
    assert counts == [1, 2, 3, 4, 5]
    received, last = received_after_the_end(
        start_member, endpoint.bootstrap_servers, group=group, topic=topic
    )
    assert received == last


@pytest.mark.parametrize("behind", [KPROXY_QUICK_GROUPS, for_soak(KPROXY_WITHOUT_SHARE_GROUPS_QUICK_GROUPS)])
def test_a_record_whose_lock_expired_goes_to_another_member_and_is_no_longer_the_first_ones(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)

    # When
    with ThreadPoolExecutor() as threads:
        expiries = list(threads.map(functools.partial(_let_locks_expire, endpoint), MEMBER_KINDS.values()))

    # Then
    for expiry in expiries:
        assert expiry.counts_at_first == {(0, 0): 1, (0, 1): 1, (0, 2): 1}
        assert expiry.counts_at_second == {(0, 0): 2, (0, 1): 2, (0, 2): 2}
        assert BRIEF_LOCK_MS / 1000 <= expiry.seconds <= BRIEF_LOCK_MS / 1000 + SOON_SECONDS
        assert expiry.errors_of_first == ["INVALID_RECORD_STATE"]
        assert expiry.errors_of_second == [None]


@every_client_through_kproxy
def test_records_of_a_member_that_closes_without_acknowledging_go_to_another_member(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(bootstrap_servers, topic, "abc")
    with start_member(bootstrap_servers, group=group, topics=[topic]) as stays:
        leaves = start_member(bootstrap_servers, group=group, topics=[topic])
        held = leaves.poll_until_records()

        # When
        leaves.close()

        # Then
        closed_at = time.monotonic()
        again = stays.poll_until_records()
        waited_seconds = time.monotonic() - closed_at
        stays.acknowledge_all(AcknowledgeType.ACCEPT)
        settled_again = stays.commit()
    assert counts_by_id(held) == {(0, 0): 1, (0, 1): 1, (0, 2): 1}
    assert counts_by_id(again) == {(0, 0): 2, (0, 1): 2, (0, 2): 2}
    assert waited_seconds < SOON_SECONDS
    assert _errors(settled_again) == [None]


@every_client_everywhere
def test_records_of_a_killed_member_go_to_another_member_at_once(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(), endpoint.new_group()
    with (
        start_member(bootstrap_servers, group=group, topics=[topic]) as one,
        start_member(bootstrap_servers, group=group, topics=[topic]) as another,
    ):
        for member in (one, another):
            _let_consume(member, bootstrap_servers, topic)
        offsets = administration.produce(bootstrap_servers, topic, "abc")
        ids = {(0, offset) for offset in offsets}
        victim, held = _who_gets(ids, one, another)
        survivor = another if victim is one else one

        # When
        victim.kill()

        # Then
        killed_at = time.monotonic()
        again = counts_by_id(accounts.receive_all(survivor, ids))
        waited_seconds = time.monotonic() - killed_at
    assert counts_by_id(held) == dict.fromkeys(ids, 1)
    assert {record_id: again[record_id] for record_id in ids} == dict.fromkeys(ids, 2)
    assert waited_seconds < SOON_SECONDS


@every_client_through_kproxy
def test_the_commit_callback_tells_of_every_record_that_its_acknowledgement_was_answered(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(partitions=2), endpoint.new_group()
    produced = accounts.produce_to_every_partition(
        endpoint.bootstrap_servers, topic, partitions=2, each=30, batches=3
    )
    member = start_member(endpoint.bootstrap_servers, group=group, topics=[topic])
    received: list[ReceivedRecord] = []
    while len(received) < len(produced):
        received += member.poll_until_records()
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        member.commit_async()

    # When
    member.close()

    # Then
    answered = Counter(
        (told.partition, offset, told.error) for told in member.answered for offset in told.offsets
    )
    assert answered == {(partition, offset, None): 1 for partition, offset in produced}
    assert values_by_id(received) == produced


@every_client_through_kproxy
def test_three_members_share_the_partitions_of_a_topic(
    share_endpoint: EndpointsOfSession, behind: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=6), endpoint.new_group(lock_ms=SHORT_LOCK_MS)
    with ExitStack() as stack:
        members = [
            stack.enter_context(start_member(bootstrap_servers, group=group, topics=[topic]))
            for _ in range(3)
        ]

        shares: list[int] = []

        # When
        for _ in range(MOST_ROUNDS):
            produced = accounts.produce_to_every_partition(bootstrap_servers, topic, partitions=6, each=1)
            deliveries = consume_together(members, accept, until=settled(len(produced)))
            shares = sorted(Counter(delivery.member for delivery in deliveries).values())
            if shares == [2, 2, 2]:
                break

    # Then
    assert shares == [2, 2, 2]


@dataclass(frozen=True, slots=True)
class _Expiry:
    counts_at_first: Mapping[RecordId, int]
    counts_at_second: Mapping[RecordId, int]
    seconds: float
    """From before the first member polled to when the second one had its records."""
    errors_of_first: list[str | None]
    errors_of_second: list[str | None]


def _let_locks_expire(endpoint: ShareEndpoint, start_member: ShareMemberFactory) -> _Expiry:
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(), endpoint.new_group(lock_ms=BRIEF_LOCK_MS)
    administration.produce(bootstrap_servers, topic, "abc")
    with (
        start_member(bootstrap_servers, group=group, topics=[topic]) as first,
        start_member(bootstrap_servers, group=group, topics=[topic]) as second,
    ):
        first.wait_until_ready()
        second.wait_until_ready()
        began = time.monotonic()
        at_first = first.poll_until_records()
        # For the second one: what is locked already stays so for as long as it was to be.
        lasting = {"share.record.lock.duration.ms": str(LONG_LOCK_MS)}
        administration.set_group_settings(bootstrap_servers, group, lasting)
        at_second = second.poll_until_records()
        seconds = time.monotonic() - began
        first.acknowledge_all(AcknowledgeType.ACCEPT)
        second.acknowledge_all(AcknowledgeType.ACCEPT)
        return _Expiry(
            counts_by_id(at_first),
            counts_by_id(at_second),
            seconds,
            _errors(first.commit()),
            _errors(second.commit()),
        )


def _let_consume(member: ShareMember, bootstrap_servers: str, topic: str) -> None:
    """Return when the member has got a record: it has joined, and its session is open."""
    records: list[ReceivedRecord] = []
    for _ in range(60):
        if not records:
            administration.produce(bootstrap_servers, topic, ["for whoever polls"])
            records = member.poll()
    assert records, "no record came"
    while records:
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        member.commit()
        records = member.poll()


def _who_gets(ids: Collection[RecordId], *members: ShareMember) -> tuple[ShareMember, list[ReceivedRecord]]:
    """The member that is given these records, and what it is given; what came before is accepted.

    librdkafka fetches ahead of the polls of its application: it may be a member that polled a while ago.
    """
    for _ in range(60):
        for member in members:
            records = member.poll()
            if counts_by_id(records).keys() & set(ids):
                return member, records
            if records:
                member.acknowledge_all(AcknowledgeType.ACCEPT)
                member.commit()
    raise AssertionError("none of the members was given any of the records")


def _errors(outcomes: Sequence[CommitOutcome]) -> list[str | None]:
    return [outcome.error for outcome in outcomes]
