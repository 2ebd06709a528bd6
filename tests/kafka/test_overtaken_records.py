"""The start of a consumed topic's log overtakes records that members hold, as retention or DeleteRecords do it."""

import time
from collections.abc import Callable
from typing import Final

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from kproxy.error_codes import ErrorCode
from tests.real_kafka import administration
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_endpoint import (
    KPROXY_QUICK_GROUPS,
    NATIVE,
    EndpointsOfSession,
    ShareEndpoint,
)

ACCEPT, RELEASE, REJECT = 1, 2, 3
RECORDS: Final = 10
LOG_START: Final = 6
TIMEOUT_SECONDS: Final = 60.0


@pytest.fixture(params=[KPROXY_QUICK_GROUPS, NATIVE])
def endpoint(request: pytest.FixtureRequest, share_endpoint: EndpointsOfSession) -> ShareEndpoint:
    return share_endpoint(request.param)


def address_of(endpoint: ShareEndpoint) -> str:
    kproxy = endpoint.kproxy
    return endpoint.cluster.broker_address(1) if kproxy is None else kproxy.broker_addresses[1]


def produce(endpoint: ShareEndpoint, topic: str) -> None:
    administration.produce(endpoint.bootstrap_servers, topic, map(str, range(RECORDS)))


def delete_records_before(endpoint: ShareEndpoint, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": endpoint.cluster.bootstrap_servers})
    for answer in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        assert answer.result(TIMEOUT_SECONDS).low_watermark == offset


def acquired(member: RawShareMember) -> dict[int, int]:
    """Fetch, and return what was acquired: the delivery count of each offset."""
    answered = member.fetch(max_wait_ms=500)
    assert all(partition.error_code == ErrorCode.NONE for partition in answered), answered
    return {
        offset: records.delivery_count
        for partition in answered
        for records in partition.acquired_records
        for offset in range(records.first_offset, records.last_offset + 1)
    }


def acquired_in_time(member: RawShareMember, wanted: Callable[[dict[int, int]], bool]) -> dict[int, int]:
    """Fetch until what was acquired by all fetches together is `wanted`."""
    everything, deadline = dict[int, int](), time.monotonic() + TIMEOUT_SECONDS
    while not wanted(everything):
        assert time.monotonic() < deadline, everything
        everything |= acquired(member)
    return everything


@pytest.mark.parametrize("how", [ACCEPT, RELEASE, REJECT])
def test_an_acknowledgement_of_records_below_the_new_log_start_is_answered_as_by_kafka_and_the_group_goes_on(
    endpoint: ShareEndpoint, how: int
) -> None:
    # Given
    topic, group = endpoint.new_topic(), endpoint.new_group()
    produce(endpoint, topic)
    with RawShareMember(address_of(endpoint), group=group, topic=topic) as member:
        member.join_until_assigned(partitions=1)
        held = acquired_in_time(member, lambda found: len(found) == RECORDS)

        # When
        delete_records_before(endpoint, topic, LOG_START)

        # Then
        assert held == dict.fromkeys(range(RECORDS), 1)
        assert member.acknowledge(0, LOG_START + 1, how) == ErrorCode.NONE
        assert member.acknowledge(LOG_START + 2, RECORDS - 1, ACCEPT) == ErrorCode.NONE
        produce(endpoint, topic)
        came = acquired_in_time(member, lambda found: max(found, default=0) == 2 * RECORDS - 1)
        again = {LOG_START: 2, LOG_START + 1: 2} if how == RELEASE else {}
        assert came == {**again, **dict.fromkeys(range(RECORDS, 2 * RECORDS), 1)}
        assert member.acknowledge(RECORDS, 2 * RECORDS - 1, ACCEPT) == ErrorCode.NONE
