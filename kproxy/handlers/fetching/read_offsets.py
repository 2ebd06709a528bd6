"""Offsets around a read: how many of them are of use, and which one is waited for afterwards."""

from collections.abc import Collection, Mapping

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import PartitionData, PartitionRead
from kproxy.share.identifiers import TopicIdPartition
from kproxy.share.share_partition import SharePartition


def acquirable_from(share_partition: SharePartition, offset: int) -> int:
    """Return how many offsets from `offset` on may be acquired at most, but for the rest of the last record batch.

    They lie in the window, or in the room that it has left.
    """
    most_in_flight = max(share_partition.in_flight_count, share_partition.limits.partition_max_record_locks)
    return max(share_partition.start_offset + most_in_flight - offset, 0)


def without_room(
    reads: Mapping[TopicIdPartition, PartitionRead], results: Mapping[TopicIdPartition, PartitionData]
) -> Collection[TopicIdPartition]:
    """Return those of `results`, in the order of the request, of which there are records that had no room in it.

    A broker sends the first batch of the first partition that has any, of any size (`ReplicaManager.readFromLog`).
    So where the first one is empty, or all are, their logs hold nothing from there to the end of what may be read: the
    records were compacted away.
    """
    first = next(iter(results), None)
    if not any(data.records for data in results.values()):
        return ()
    return {each for each, data in results.items() if each != first and _had_no_room(reads[each], data)}


def missing_offset(share_partition: SharePartition, read: PartitionRead, data: PartitionData) -> int | None:
    """Return the offset that a fetch waits for after `read`; None when its window is full.

    Everything below the end of what may be read was seen by the read, so it is not waited for again, even if it was of
    no use: that would be a loop without a pause. Where the log ends below the offset (an unclean election took records
    back) whatever is added is waited for, until it reaches the offset: a tail cannot wait beyond the end of a log.
    """
    next_fetch_offset = share_partition.next_fetch_offset()
    if next_fetch_offset != read.offset:
        return next_fetch_offset if share_partition.can_acquire() else None
    if not share_partition.can_acquire():
        return None
    if data.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return min(next_fetch_offset, data.readable_end) if data.readable_end >= 0 else None
    return max(next_fetch_offset, data.readable_end)


def is_read_to_its_end(read: PartitionRead, data: PartitionData, missing: int | None) -> bool:
    """Tell whether there is nothing to acquire before the log grows: it ends where `missing_offset` said to wait.

    That is so, too, of a log that ends below the offset.
    """
    if data.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return missing == data.readable_end < read.offset
    has_nothing = data.error_code is ErrorCode.NONE and not data.records
    return has_nothing and missing == max(read.offset, data.readable_end)


def _had_no_room(read: PartitionRead, data: PartitionData) -> bool:
    return data.error_code is ErrorCode.NONE and not data.records and data.readable_end > read.offset
