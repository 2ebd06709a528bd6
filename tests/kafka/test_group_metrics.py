"""What `/metrics` tells of a share group at work, as its members see it."""

from typing import Final

from tests.real_kafka import administration
from tests.real_kafka.share_endpoint import KPROXY_REFERENCE, EndpointsOfSession
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import ConfluentShareMember

RECORDS: Final = 20


def test_a_group_at_work_is_told_by_group_and_by_share_partition(share_endpoint: EndpointsOfSession) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_REFERENCE)
    kproxy = endpoint.kproxy
    assert kproxy is not None
    topic, group = endpoint.new_topic(), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, [f"{number}" for number in range(RECORDS)])

    # When
    with ConfluentShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        taken = member.poll_until_records()
        held = kproxy.metrics()
        while len(taken) < RECORDS:
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            taken += member.poll_until_records()
        member.acknowledge_all(AcknowledgeType.ACCEPT)
        member.commit()
        done = kproxy.metrics()

    # Then
    place = {"group": group, "topic": topic, "partition": "0"}
    in_flight = held.value("kproxy_share_partition_inflight_records", **place)
    assert 0 < in_flight == held.value("kproxy_share_group_inflight_records", group=group)
    assert held.value("kproxy_share_partition_inflight_batches", **place) >= 1
    assert 0 < held.value("kproxy_share_group_window_ratio", group=group) <= 1
    assert done.value("kproxy_share_group_records_total", group=group, event="delivered") >= RECORDS
    assert done.value("kproxy_share_group_records_total", group=group, event="acknowledged") == RECORDS
    fetches = done.value("kproxy_share_fetch_ratio_count", group=group)
    assert fetches > done.value("kproxy_share_fetch_ratio_bucket", group=group, le="0.0")
    assert 0 < done.value("kproxy_share_acquire_seconds_count", group=group) <= fetches + 1
    assert done.value("kproxy_share_read_turn_seconds_count", group=group) >= 1
    assert done.total("kproxy_share_partition_load_seconds_count") >= 1
    assert done.total("kproxy_share_rebalances_total") >= 1
    assert done.total("kproxy_relay_added_seconds_count") >= 1
    assert done.total("kproxy_event_loop_lag_seconds_count") >= 1
    assert done.total("kproxy_metrics_dropped_series_total") == 0
