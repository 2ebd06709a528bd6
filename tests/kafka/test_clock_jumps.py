"""The wall clock of kproxy's host jumps by hours, forwards and backwards: nobody who shares records notices."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.jumping_kproxy import JumpingKproxy
from tests.real_kafka.kproxy_process import state_topic_settings
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS, SHORT_LOCKS
from tests.real_kafka.share_endpoint import LONG_LOCK_MS

pytestmark = pytest.mark.soak

ACCEPT: Final = 1
RECORDS: Final = 10
BRIEF_LOCK_MS: Final = 1_500
AHEAD, BEHIND = 5, -5
"""Hours. Kafka 4 refuses what is dated more than one hour after its own time."""


@pytest.fixture
def settings() -> dict[str, str | int]:
    return {**state_topic_settings(), **QUICK_HEARTBEATS, **SHORT_LOCKS}


@pytest.fixture
def kproxy(reference_cluster: KafkaCluster, settings: dict[str, str | int]) -> Iterator[JumpingKproxy]:
    with JumpingKproxy(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


def new_group(kproxy: JumpingKproxy, *, lock_ms: int = LONG_LOCK_MS) -> str:
    group = unique_name("jumping")
    administration.set_group_settings(
        kproxy.bootstrap_servers,
        group,
        {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(lock_ms)},
    )
    return group


def new_topic(kproxy: JumpingKproxy) -> str:
    topic = administration.create_topic(kproxy.bootstrap_servers, unique_name("jumping"))
    administration.produce(kproxy.bootstrap_servers, topic, map(str, range(RECORDS)))
    return topic


def acquired(member: RawShareMember, *, max_wait_ms: int = 500) -> dict[int, int]:
    """Fetch, and return what was acquired: the delivery count of each offset."""
    [partition] = member.fetch(max_wait_ms=max_wait_ms)
    assert partition.error_code == ErrorCode.NONE, partition
    return {
        offset: records.delivery_count
        for records in partition.acquired_records
        for offset in range(records.first_offset, records.last_offset + 1)
    }


@pytest.mark.parametrize("hours", [AHEAD, BEHIND])
def test_a_jump_ends_no_lock_and_no_session_and_what_is_accepted_after_it_is_durable(
    kproxy: JumpingKproxy, hours: int
) -> None:
    # Given
    topic, group = new_topic(kproxy), new_group(kproxy)
    with ExitStack() as stack:
        holder, other = (
            stack.enter_context(
                RawShareMember(kproxy.broker_addresses[1], group=group, topic=topic, member_id=name)
            )
            for name in ("holder", "other")
        )
        for member in (holder, other):
            member.join_until_assigned(partitions=1)
        held = acquired(holder, max_wait_ms=30_000)

        # When
        kproxy.jump_to(hours)

        # Then
        assert held == dict.fromkeys(range(RECORDS), 1)
        assert acquired(other, max_wait_ms=1_000) == {}
        assert holder.acknowledge(0, 4, ACCEPT) == ErrorCode.NONE
        kproxy.jump_to(0)
        assert holder.acknowledge(5, 7, ACCEPT) == ErrorCode.NONE
        assert {member["memberId"] for member in kproxy.group_item(group)["members"]} == {"holder", "other"}
        holder.leave()
        assert acquired(other, max_wait_ms=10_000) == {8: 2, 9: 2}
    assert kproxy.metrics().total("kproxy_statelog_rebuilds_total") == 0
    assert kproxy.metrics().total("kproxy_statelog_refusals_total") == 0
    assert bool(kproxy.log_events("append_date_refused")) is (hours == AHEAD)


@pytest.mark.parametrize("hours", [AHEAD, BEHIND])
def test_a_lock_that_is_held_over_a_jump_ends_in_its_time(kproxy: JumpingKproxy, hours: int) -> None:
    # Given
    topic, group = new_topic(kproxy), new_group(kproxy, lock_ms=BRIEF_LOCK_MS)
    with RawShareMember(kproxy.broker_addresses[1], group=group, topic=topic) as member:
        member.join_until_assigned(partitions=1)
        held = acquired(member, max_wait_ms=30_000)

        # When
        kproxy.jump_to(hours)

        # Then
        again = acquired(member, max_wait_ms=10_000)
    assert held == dict.fromkeys(range(RECORDS), 1)
    assert again == dict.fromkeys(range(RECORDS), 2)


def test_processes_whose_clocks_are_ten_hours_apart_take_slots_over_from_each_other_and_lose_nothing(
    reference_cluster: KafkaCluster, kproxy: JumpingKproxy, settings: dict[str, str | int]
) -> None:
    # Given
    topic, group = new_topic(kproxy), new_group(kproxy)
    kproxy.jump_to(AHEAD)
    with RawShareMember(kproxy.broker_addresses[1], group=group, topic=topic) as member:
        member.join_until_assigned(partitions=1)
        acquired(member, max_wait_ms=30_000)
        assert member.acknowledge(0, 4, ACCEPT) == ErrorCode.NONE

    first_accepted, servers = range(5), reference_cluster.bootstrap_servers
    every_slot = set(range(int(settings["share.coordinator.state.topic.num.partitions"])))
    with JumpingKproxy(servers, settings=settings, hours=BEHIND) as behind:
        behind.wait_until_ready()

        # When
        assert kproxy.drain() == 0
        behind.wait_until(lambda: behind.owned_slots() == every_slot)

        # Then
        with RawShareMember(behind.broker_addresses[1], group=group, topic=topic) as member:
            member.join_until_assigned(partitions=1)
            left = acquired(member, max_wait_ms=30_000)
            assert left.keys() == set(range(RECORDS)) - set(first_accepted)
            assert member.acknowledge(5, 9, ACCEPT) == ErrorCode.NONE
        with JumpingKproxy(servers, settings=settings, hours=AHEAD) as ahead:
            ahead.wait_until_ready()
            behind.kill()
            ahead.wait_until(lambda: ahead.owned_slots() == every_slot)
            ahead.wait_until(lambda: ahead.lags(group) == {0: 0})
            assert ahead.log_events("slot_stopped") == []
