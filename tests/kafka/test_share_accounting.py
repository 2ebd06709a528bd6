"""Every record is accounted for: real share consumers, alone and together, split topics through kproxy."""

import itertools
from collections import Counter
from contextlib import ExitStack
from typing import Final

import pytest

from tests.kafka import accounts
from tests.kafka.consumption import Rule, consume_together, settled
from tests.kafka.share_endpoint import (
    KPROXY_CONSTRUCT,
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    SHORT_LOCK_MS,
    EndpointsOfSession,
)
from tests.kafka.share_member import AcknowledgeType, ReceivedRecord
from tests.kafka.share_members import MEMBER_KINDS

RECORDS: Final = 160
BATCHES: Final = 8
"""Both over all partitions of a topic."""


def release_some_reject_some(record: ReceivedRecord) -> AcknowledgeType:
    """Release every fifth offset when it comes first, reject every fourth, accept the others."""
    if record.offset % 5 == 0 and record.delivery_count == 1:
        return AcknowledgeType.RELEASE
    return AcknowledgeType.REJECT if record.offset % 4 == 0 else AcknowledgeType.ACCEPT


RULE: Final[Rule] = release_some_reject_some


@pytest.mark.parametrize("client", MEMBER_KINDS)
@pytest.mark.parametrize(
    ("behind", "members", "partitions"),
    [
        *itertools.product([KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS], [1, 3], [1, 8]),
        (KPROXY_OLDEST, 1, 1),
        (KPROXY_OLDEST, 1, 8),
        (KPROXY_CONSTRUCT, 3, 8),
        (NATIVE, 3, 8),
    ],
)
def test_every_record_is_settled_once_and_released_ones_come_again(
    share_endpoint: EndpointsOfSession, behind: str, client: str, members: int, partitions: int
) -> None:
    # Given
    endpoint, start_member = share_endpoint(behind), MEMBER_KINDS[client]
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
    assert accounts.misaccounted(deliveries, produced) == {}
    answered = Counter(delivery.how for delivery in deliveries if delivery.error is None)
    assert answered[AcknowledgeType.ACCEPT] == RECORDS * 3 // 4
    assert answered[AcknowledgeType.REJECT] == RECORDS // 4
    dropped = sum(delivery.error is not None for delivery in deliveries)
    assert RECORDS // 5 - dropped <= answered[AcknowledgeType.RELEASE] <= RECORDS // 5
    received, last = accounts.received_after_the_end(
        start_member, bootstrap_servers, group=group, topic=topic, partitions=partitions
    )
    assert received == last
