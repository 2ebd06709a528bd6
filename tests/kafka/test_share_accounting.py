"""Every record is accounted for: real share consumers, alone and together, split topics through kproxy."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final

import pytest

from tests.real_kafka import accounts
from tests.real_kafka.accounts import misaccounted
from tests.real_kafka.consumption import Delivery, Enough, Rule, accept, consume_together, settled
from tests.real_kafka.everyday import pairs_with_clients
from tests.real_kafka.share_endpoint import (
    BRIEF_LOCK_MS,
    KPROXY_CONSTRUCT,
    KPROXY_OLDEST,
    KPROXY_QUICK_GROUPS,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    LONG_LOCK_MS,
    NATIVE,
    SHORT_LOCK_MS,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_member import AcknowledgeType, ReceivedRecord, ShareMember
from tests.real_kafka.share_members import ShareMemberFactory

RECORDS: Final = 160
BATCHES: Final = 8
"""Both over all partitions of a topic."""


def release_some_reject_some(record: ReceivedRecord) -> AcknowledgeType:
    """Release every fifth offset when it comes first, reject every fourth, accept the others."""
    if record.offset % 5 == 0 and record.delivery_count == 1:
        return AcknowledgeType.RELEASE
    return AcknowledgeType.REJECT if record.offset % 4 == 0 else AcknowledgeType.ACCEPT


RULE: Final[Rule] = release_some_reject_some

LESS_THAN_A_LONG_LOCK_SECONDS: Final = 45.0
MORE_THAN_A_LONG_LOCK_SECONDS: Final = 90.0
HOLDER: Final = -1
"""Stands for the member that says nothing of its records."""
NEVER_SAID: Final = "never acknowledged"
ENDS: Final[Mapping[str, Callable[[ShareMember], None]]] = {
    "killed": ShareMember.kill,
    "closed": ShareMember.close,
    "lock-expired": ShareMember.pause,
}


@pairs_with_clients(
    ["behind", "members", "partitions"],
    [
        (KPROXY_REFERENCE, 3, 8),
        *itertools.product([KPROXY_REFERENCE], [1, 3], [1]),
        (KPROXY_OLDEST, 1, 1),
        (KPROXY_OLDEST, 1, 8),
        (KPROXY_CONSTRUCT, 3, 8),
        (NATIVE, 3, 8),
    ],
    left_to_soak=[
        (KPROXY_REFERENCE, 1, 8),
        *itertools.product([KPROXY_WITHOUT_SHARE_GROUPS], [1, 3], [1, 8]),
    ],
)
def test_every_record_is_settled_once_and_released_ones_come_again(
    share_endpoint: EndpointsOfSession,
    behind: str,
    members: int,
    partitions: int,
    start_member: ShareMemberFactory,
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    # An acknowledgement that a client drops at a rebalance leaves its records locked for so long.
    topic, group = endpoint.new_topic(partitions=partitions), endpoint.new_group(lock_ms=SHORT_LOCK_MS)
    bootstrap_servers = endpoint.bootstrap_servers
    produced = accounts.produce_to_every_partition(
        bootstrap_servers,
        topic,
        partitions=partitions,
        each=RECORDS // partitions,
        batches=BATCHES // partitions,
    )

    # When
    with ExitStack() as stack:
        started = [
            stack.enter_context(start_member(bootstrap_servers, group=group, topics=[topic]))
            for _ in range(members)
        ]
        deliveries = consume_together(started, RULE, until=settled(RECORDS))

    # Then
    assert misaccounted(deliveries, produced) == {}
    answered = Counter(delivery.how for delivery in deliveries if delivery.error is None)
    assert answered[AcknowledgeType.ACCEPT] == RECORDS * 3 // 4
    assert answered[AcknowledgeType.REJECT] == RECORDS // 4
    dropped = sum(delivery.error is not None for delivery in deliveries)
    assert RECORDS // 5 - dropped <= answered[AcknowledgeType.RELEASE] <= RECORDS // 5
    received, last = accounts.received_after_the_end(
        start_member, bootstrap_servers, group=group, topic=topic, partitions=partitions
    )
    assert received == last


# Three clients that start, and a lock that may have to end, take longer than other tests where the machine is slow.
@pytest.mark.timeout(600)
@pairs_with_clients(["end"], [("killed",), ("closed",), ("lock-expired",)])
def test_what_one_of_three_members_holds_when_it_is_gone_is_settled_by_the_others(
    share_endpoint: EndpointsOfSession, end: str, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_QUICK_GROUPS)
    bootstrap_servers = endpoint.bootstrap_servers
    topic = endpoint.new_topic(partitions=8)
    group = endpoint.new_group(lock_ms=BRIEF_LOCK_MS if end == "lock-expired" else LONG_LOCK_MS)
    with ExitStack() as stack:
        holder, *others = (start_member(bootstrap_servers, group=group, topics=[topic]) for _ in range(3))
        stack.callback(holder.kill)
        for other in others:
            stack.enter_context(other)
        _let_share(endpoint, group, (holder, *others), partitions=8)
        produced = accounts.produce_to_every_partition(bootstrap_servers, topic, partitions=8, each=20)
        held = holder.poll_until_records()

        # When
        ENDS[end](holder)

        # Then
        again = consume_together(
            others,
            accept,
            until=_delivered(produced),
            timeout_seconds=LESS_THAN_A_LONG_LOCK_SECONDS,
        )
        # An acknowledgement that a client drops at a rebalance leaves its records locked for so long.
        again += consume_together(
            others,
            accept,
            until=lambda later: settled(len(produced))([*again, *later]),
            timeout_seconds=MORE_THAN_A_LONG_LOCK_SECONDS,
        )
    deliveries = [Delivery(HOLDER, record, AcknowledgeType.ACCEPT, NEVER_SAID) for record in held] + again
    # What the holder had fetched and not yet given out was delivered as well.
    assert misaccounted(deliveries, produced, were_killed=True) == {}
    delivered = [(delivery.record.partition, delivery.record.offset) for delivery in deliveries]
    assert {record_id for record_id in delivered if delivered.count(record_id) > 1} >= accounts.counts_by_id(
        held
    ).keys()


def _let_share(
    endpoint: ShareEndpoint, group: str, members: Sequence[ShareMember], *, partitions: int
) -> None:
    """Let all members join, and return when all partitions are shared out among them; there are no records yet.

    When one goes then, the others lose nothing that they have fetched, and the group is not left empty: of a group
    without members nothing stays locked in any case.
    """
    assert endpoint.kproxy is not None
    for member in members:
        assert member.poll() == []
    endpoint.kproxy.wait_until_shared_out(group, members=len(members), partitions=partitions)


def _delivered(wanted: Mapping[accounts.RecordId, str]) -> Enough:
    """Enough when each of these records is among the deliveries."""

    def is_enough(deliveries: Sequence[Delivery]) -> bool:
        return accounts.counts_by_id(delivery.record for delivery in deliveries).keys() >= wanted.keys()

    return is_enough
