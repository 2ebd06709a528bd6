"""A ShareFetch that waits for records is answered when there are some, not when its time is up."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest

from kproxy.wire.messages.share_fetch_response import PartitionData
from tests.real_kafka import administration
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_endpoint import (
    BRIEF_LOCK_MS,
    KPROXY_QUICK_GROUPS,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    LONG_LOCK_MS,
    EndpointsOfSession,
    ShareEndpoint,
)

LONG_WAIT_MS: Final = 60_000
PROMPT_SECONDS: Final = 20.0
"""Far less than a fetch waits, and more than a busy machine adds to what happens at once."""
RELEASE: Final = 2
PARTITIONS: Final = 100
SILENT_PARTITION: Final = 57

through_kproxy = pytest.mark.parametrize("behind", [KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS])


@dataclass(frozen=True, slots=True)
class Scene:
    """One member holds the only record, and another one's fetch waits."""

    bootstrap_servers: str
    topic: str
    holder: RawShareMember


@dataclass(frozen=True, slots=True)
class WakeUp:
    """What happens while a fetch waits, and what it is answered with, from when to when."""

    happens: Callable[[Scene], object]
    acquired: tuple[int, int, int]
    """First offset, last offset, delivery count."""


WAKE_UPS: Final = {
    "a-record-is-produced": WakeUp(
        lambda scene: administration.produce(scene.bootstrap_servers, scene.topic, ["new"]),
        acquired=(1, 1, 1),
    ),
    "a-record-is-released": WakeUp(lambda scene: scene.holder.acknowledge(0, 0, RELEASE), acquired=(0, 0, 2)),
    "a-session-is-closed": WakeUp(lambda scene: scene.holder.leave(), acquired=(0, 0, 2)),
    "a-connection-drops": WakeUp(lambda scene: scene.holder.close(), acquired=(0, 0, 2)),
}


@through_kproxy
@pytest.mark.parametrize("wake_up", WAKE_UPS.values(), ids=WAKE_UPS)
def test_a_waiting_fetch_is_answered_as_soon_as_there_is_a_record_for_it(
    share_endpoint: EndpointsOfSession, behind: str, wake_up: WakeUp
) -> None:
    # Given
    with waiting_beside_a_holder(share_endpoint(behind), lock_ms=LONG_LOCK_MS) as (scene, waiter):
        waits_since = time.monotonic()

        # When
        wake_up.happens(scene)

        # Then
        fetched = waiter.receive_fetched()
        waited_seconds = time.monotonic() - waits_since
    assert acquired(fetched) == [wake_up.acquired]
    assert waited_seconds <= PROMPT_SECONDS


def test_a_waiting_fetch_is_answered_when_the_lock_of_another_member_expires(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint = share_endpoint(KPROXY_QUICK_GROUPS)
    with waiting_beside_a_holder(endpoint, lock_ms=BRIEF_LOCK_MS) as (_, waiter):
        waits_since = time.monotonic()

        # When
        fetched = waiter.receive_fetched()

        # Then
        waited_seconds = time.monotonic() - waits_since
    assert acquired(fetched) == [(0, 0, 2)]
    assert waited_seconds <= BRIEF_LOCK_MS / 1000 + PROMPT_SECONDS


@through_kproxy
def test_a_fetch_that_waits_for_100_partitions_is_answered_when_the_silent_one_gets_a_record(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(partitions=PARTITIONS), endpoint.new_group()
    address = endpoint.bootstrap_servers
    busy = set(range(PARTITIONS)) - {SILENT_PARTITION}
    for partition in busy:
        administration.produce(address, topic, ["busy"], partition=partition)
    with RawShareMember(address, group=group, topic=topic) as member:
        member.join()
        seen = {data.partition_index for data in member.fetch(range(PARTITIONS)) if data.acquired_records}
        while seen < busy:
            seen |= {data.partition_index for data in member.fetch(()) if data.acquired_records}
        member.send_fetch((), max_wait_ms=LONG_WAIT_MS)

        # When
        administration.produce(address, topic, ["at last"], partition=SILENT_PARTITION)

        # Then
        produced_at = time.monotonic()
        [fetched] = member.receive_fetched()
        waited_seconds = time.monotonic() - produced_at
    assert seen == busy
    assert fetched.partition_index == SILENT_PARTITION
    assert acquired([fetched]) == [(0, 0, 1)]
    assert waited_seconds < PROMPT_SECONDS


@through_kproxy
def test_a_fetch_for_which_nothing_comes_is_answered_empty_when_its_time_is_up(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    with RawShareMember(endpoint.bootstrap_servers, group=group, topic=topic) as member:
        member.join()
        member.fetch_until_named(max_wait_ms=100)
        began = time.monotonic()

        # When
        fetched = member.fetch((), max_wait_ms=1_000)

        # Then
        waited_seconds = time.monotonic() - began
    assert fetched == []
    assert 1.0 <= waited_seconds <= 1.0 + PROMPT_SECONDS


@contextmanager
def waiting_beside_a_holder(
    endpoint: ShareEndpoint, *, lock_ms: int
) -> Iterator[tuple[Scene, RawShareMember]]:
    """One member holds the only record of a topic; the fetch of another one, which is returned, is waiting."""
    topic, group = endpoint.new_topic(), endpoint.new_group(lock_ms=lock_ms)
    address = endpoint.bootstrap_servers
    administration.produce(address, topic, ["first"])
    with (
        RawShareMember(address, group=group, topic=topic, member_id="holder") as holder,
        RawShareMember(address, group=group, topic=topic, member_id="waiter") as waiter,
    ):
        holder.join()
        waiter.join()
        assert acquired(holder.fetch(max_wait_ms=LONG_WAIT_MS)) == [(0, 0, 1)]
        assert acquired(waiter.fetch(max_wait_ms=0)) == []
        waiter.send_fetch((), max_wait_ms=LONG_WAIT_MS)
        yield Scene(address, topic, holder), waiter


def acquired(fetched: list[PartitionData]) -> list[tuple[int, int, int]]:
    """First offset, last offset and delivery count of everything that was acquired."""
    return [
        (records.first_offset, records.last_offset, records.delivery_count)
        for data in fetched
        for records in data.acquired_records
    ]
