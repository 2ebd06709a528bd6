"""Kafka's own share consumer tools, by their classes, consume through kproxy."""

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final

import pytest

from tests.real_kafka import accounts, tools
from tests.real_kafka.accounts import received_after_the_end
from tests.real_kafka.child import ChildTimedOut
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.java_probe import JavaShareMember
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_members import ConfluentShareMember
from tests.real_kafka.tools import JsonEvent, VerifiableShareConsumer

RECORDS: Final = 96
"""Over all partitions of a topic."""
CONSUMERS: Final = 3
PARTITIONS: Final = 8
"""Of the topic that they share."""


@pytest.mark.parametrize(
    ("behind", "partitions"),
    [
        for_soak(KPROXY_REFERENCE, 1),
        (KPROXY_REFERENCE, 8),
        (KPROXY_WITHOUT_SHARE_GROUPS, 1),
        for_soak(KPROXY_WITHOUT_SHARE_GROUPS, 8),
        for_soak(KPROXY_OLDEST, 1),
    ],
)
def test_the_verifiable_share_consumer_gets_every_record_and_all_its_acknowledgements_succeed(
    share_endpoint: EndpointsOfSession, behind: str, partitions: int
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=partitions), endpoint.new_group()
    produced = accounts.produce_to_every_partition(
        bootstrap_servers, topic, partitions=partitions, each=RECORDS // partitions, batches=3
    )

    # When
    with VerifiableShareConsumer(bootstrap_servers, topic=topic, group=group) as consumer:
        events = consumer.events_until(lambda seen: _acknowledged_count(seen) >= RECORDS)

    # Then
    assert Counter(_received_values([events])) == Counter(produced.values())
    assert _acknowledged_count(events) == RECORDS
    assert [event for event in events if event.get("success") is False] == []


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, for_soak(KPROXY_WITHOUT_SHARE_GROUPS)])
def test_three_verifiable_share_consumers_get_every_record_once_between_them(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=PARTITIONS), endpoint.new_group()

    # When
    with ExitStack() as stack:
        consumers = [
            stack.enter_context(VerifiableShareConsumer(bootstrap_servers, topic=topic, group=group))
            for _ in range(CONSUMERS)
        ]
        # What a client drops at a rebalance is locked for longer than is waited here.
        _wait_until_all_have_partitions(endpoint, group)
        produced = accounts.produce_to_every_partition(
            bootstrap_servers, topic, partitions=PARTITIONS, each=RECORDS // PARTITIONS
        )
        seen = _events_until_all_is_acknowledged(consumers, RECORDS)

    # Then
    assert Counter(_received_values(seen)) == Counter(produced.values())
    assert sum(map(_acknowledged_count, seen)) == RECORDS
    received, last = received_after_the_end(
        ConfluentShareMember, bootstrap_servers, group=group, topic=topic, partitions=PARTITIONS
    )
    assert received == last


@pytest.mark.parametrize(
    ("behind", "partitions"),
    [(KPROXY_REFERENCE, 8), for_soak(KPROXY_WITHOUT_SHARE_GROUPS, 1), (KPROXY_OLDEST, 1)],
)
def test_the_console_share_consumer_writes_every_record_and_accepts_it(
    share_endpoint: EndpointsOfSession, behind: str, partitions: int
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=partitions), endpoint.new_group()
    produced = accounts.produce_to_every_partition(
        bootstrap_servers, topic, partitions=partitions, each=RECORDS // partitions
    )

    # When
    with tools.console_share_consumer(
        bootstrap_servers, topic, group=group, max_messages=RECORDS
    ) as consumer:
        result = consumer.finish()

    # Then
    assert result.exit_status == 0
    assert Counter(result.lines) == Counter(produced.values())
    received, last = received_after_the_end(
        JavaShareMember, bootstrap_servers, group=group, topic=topic, partitions=partitions
    )
    assert received == last


def test_what_the_console_share_consumer_rejects_is_delivered_no_more(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(), endpoint.new_group()
    produced = accounts.produce_to_every_partition(bootstrap_servers, topic, each=5)

    # When
    with tools.console_share_consumer(
        bootstrap_servers, topic, group=group, max_messages=5, arguments=["--reject"]
    ) as consumer:
        result = consumer.finish()

    # Then
    assert list(result.lines) == list(produced.values())
    received, last = received_after_the_end(ConfluentShareMember, bootstrap_servers, group=group, topic=topic)
    assert received == last


def test_what_the_console_share_consumer_releases_is_delivered_again(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(), endpoint.new_group()
    produced = accounts.produce_to_every_partition(bootstrap_servers, topic, each=5)

    # When
    with tools.console_share_consumer(
        bootstrap_servers, topic, group=group, max_messages=5, arguments=["--release"]
    ) as consumer:
        result = consumer.finish()

    # Then
    with ConfluentShareMember(bootstrap_servers, group=group, topics=[topic]) as member:
        again = accounts.receive_all(member, produced)
    assert list(result.lines) == list(produced.values())
    assert accounts.values_by_id(again) == produced
    assert min(record.delivery_count for record in again) == 2


def _wait_until_all_have_partitions(endpoint: ShareEndpoint, group: str) -> None:
    """Return when each of the consumers has been told of partitions of its own, and all are shared out."""
    assert endpoint.kproxy is not None
    endpoint.kproxy.wait_until_shared_out(group, members=CONSUMERS, partitions=PARTITIONS)


def _events_until_all_is_acknowledged(
    consumers: Sequence[VerifiableShareConsumer], count: int
) -> list[Sequence[JsonEvent]]:
    """The events of each consumer, read until all of them together have acknowledged `count` records."""
    seen = [consumer.seen_events for consumer in consumers]

    deadline = time.monotonic() + 60

    def read(consumer: VerifiableShareConsumer) -> None:
        # Somebody else may have got the last record: then nothing more comes here.
        while sum(map(_acknowledged_count, seen)) < count and time.monotonic() < deadline:
            with contextlib.suppress(ChildTimedOut):
                consumer.next_event(timeout_seconds=0.2)

    with ThreadPoolExecutor() as threads:
        list(threads.map(read, consumers))
    return [*seen]


def _received_values(seen: Iterable[Sequence[JsonEvent]]) -> list[Any]:
    return [event["value"] for events in seen for event in events if event["name"] == "record_data"]


def _acknowledged_count(events: Sequence[JsonEvent]) -> int:
    answers = [event for event in events if event["name"] == "offsets_acknowledged"]
    return sum(int(str(answer["count"])) for answer in answers if answer["success"] is True)
