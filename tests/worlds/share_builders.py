"""What the tests of share-partitions begin with."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from kproxy.share.acquisition import AcquiredRange
from kproxy.share.heartbeat import TopicInitialization
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, TopicId, TopicIdPartition
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_partition_view import InFlightRangeView
from kproxy.share.state_batches import StateBatch

ALICE, BOB = MemberId("alice"), MemberId("bob")
ORDERS = GroupId("orders")
TOPIC = TopicId(b"topic-of-16bytes")
OTHER_TOPIC = TopicId(b"u" * 16)
KEY = SharePartitionKey(ORDERS, TOPIC, 0)

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


def a_share_partition(
    *,
    start_offset: int = 0,
    state_batches: Iterable[StateBatch] = (),
    limits: ShareLimits | None = None,
) -> SharePartition:
    """A share-partition with Kafka's default limits."""
    return SharePartition(
        KEY, start_offset=start_offset, state_batches=state_batches, limits=limits or ShareLimits()
    )


def fetch(
    share_partition: SharePartition,
    member_id: MemberId,
    *extents: tuple[int, int],
    max_records: int = 500,
    batch_size: int = 500,
    is_record_limit: bool = False,
    now_ms: int = 0,
    aborted: Sequence[tuple[int, int]] = (),
) -> list[AcquiredRange]:
    """Read record batches from where the share-partition wants to, and acquire from them."""
    return share_partition.acquire(
        member_id,
        extents,
        fetch_offset=share_partition.next_fetch_offset(),
        max_records=max_records,
        batch_size=batch_size,
        is_record_limit=is_record_limit,
        now_ms=now_ms,
        aborted=aborted,
    )


@dataclass(slots=True)
class SaidBatch:
    """An acknowledgement batch of no request."""

    first_offset: int
    last_offset: int
    acknowledge_types: Sequence[int]


class CountedTypes(list[int]):
    """Acknowledge types, and how many of them were looked at."""

    looked_at = 0

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        found = super().__getitem__(place)
        self.looked_at += len(found) if isinstance(found, list) else 1
        return found

    def __iter__(self) -> Iterator[int]:
        self.looked_at += len(self)
        return super().__iter__()


class LookedUpId(bytes):
    """The id of a topic; counts how often such ids are looked for in sets and dictionaries."""

    look_ups = 0

    def __hash__(self) -> int:
        LookedUpId.look_ups += 1
        return super().__hash__()

    __eq__ = bytes.__eq__


def say(first_offset: int, last_offset: int, *types: int) -> list[SaidBatch]:
    """One acknowledgement batch."""
    return [SaidBatch(first_offset, last_offset, types)]


def deliver_and_release(share_partition: SharePartition, *extents: tuple[int, int], times: int) -> None:
    """Let Alice acquire and release whatever she gets, so often."""
    for _ in range(times):
        fetch(share_partition, ALICE, *extents)
        share_partition.release(ALICE)


def deliver_and_release_to_bob(
    share_partition: SharePartition, *extents: tuple[int, int], times: int
) -> None:
    """Let Bob acquire and release whatever he gets, so often; what Alice holds stays with her."""
    for _ in range(times):
        fetch(share_partition, BOB, *extents)
        share_partition.release(BOB)


def in_flight(share_partition: SharePartition) -> list[tuple[int, int, str, int]]:
    """First offset, last offset, state and delivery count of every run."""
    return [_brief(run) for run in share_partition.view().ranges]


def _brief(run: InFlightRangeView) -> tuple[int, int, str, int]:
    return run.first_offset, run.last_offset, run.state.name, run.delivery_count


def partitions_of(topic_id: TopicId, numbers: Sequence[int]) -> list[TopicIdPartition]:
    """Some partitions of one topic."""
    return [TopicIdPartition(topic_id, number) for number in numbers]


def keys_of(wanted: Iterable[TopicInitialization]) -> list[SharePartitionKey]:
    """The share-partitions that are to be initialized."""
    return [key for topic in wanted for key in topic.share_partitions()]
