"""From the bytes of a read to records that a member holds."""

from collections.abc import Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.handlers.fetching.aborted_batches import aborted_extents
from kproxy.handlers.fetching.fetch_terms import FetchedPartition, FetchTerms
from kproxy.handlers.fetching.read_batches import ReadBatches
from kproxy.handlers.live.leadership import PartitionRefusal, group_refusal, undeliverable
from kproxy.handlers.live.log_starts import move_start
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.share.share_partition import SharePartition
from kproxy.wire.messages.fetch_response import AbortedTransaction
from kproxy.wire.record_batches import BatchExtent

MOST_RANGES: Final = 5_000
"""With so many acquired ranges an answer is full; of the share-partition in which it becomes so all are told.

Each is gone through three times in one turn of the loop when the answer is made. Stock clients have as many only with
MaxRecords, or windows, of thousands in batches of one record each.
"""


class RecordAcquisition:
    """Acquires for one ShareFetch, partition after partition, from one budget of records and of `MOST_RANGES`."""

    __slots__ = (
        "_ranges_left",
        "_services",
        "_terms",
        "_writes",
        "acquired_count",
        "has_found_aborted",
        "has_refused",
        "records_left",
    )

    def __init__(self, services: ShareServices, terms: FetchTerms, writes: StateWrites) -> None:
        self._services = services
        self._terms = terms
        self._writes = writes
        self._ranges_left = MOST_RANGES
        self.acquired_count = 0
        """Offsets acquired so far."""
        self.has_found_aborted = False
        """Of some share-partition all that could be acquired belonged to aborted transactions."""
        self.has_refused = False
        """Records came that the sender may not read, or not any more, or whose group it may not read any more."""
        self.records_left = terms.max_records
        """What is left of the budget; negative when a batch was taken to its end. Nothing when the answer is full."""

    @property
    def has_news(self) -> bool:
        """Whether there is something to tell the client of.

        A stock broker answers a fetch that it found aborted records for, too, though there is nothing to tell.
        """
        return self.acquired_count > 0 or self.has_found_aborted or self.has_refused

    def acquire(
        self,
        share_partition: SharePartition,
        batches: ReadBatches,
        fetch_offset: int,
        aborted: Sequence[AbortedTransaction] = (),
    ) -> FetchedPartition:
        """Acquire from `batches`, which a read from `fetch_offset` returned, but for those of `aborted` transactions.

        The answer's records reach from the batch of the first acquired offset to that of the last; there may
        be offsets in them that were not acquired. Nothing is acquired of a topic that the sender may not read by now,
        nor for a group that it may not read by now: that is no partition's error, `has_refused` tells of it.
        """
        readable = self._terms.readable
        refusal = undeliverable(readable, share_partition.key.topic_id) or group_refusal(readable)
        if refusal is not None:
            self.has_refused = True
            return FetchedPartition(refusal)
        if not readable.may_read_group():
            self.has_refused = True
            return FetchedPartition()
        extents = batches.extents
        if batches.is_corrupt:
            return FetchedPartition(PartitionRefusal(ErrorCode.CORRUPT_MESSAGE, batches.malformed))
        self._learn_size(share_partition, batches)
        now_ms = self._services.clock.now_ms()
        acquired = share_partition.acquire(
            self._terms.session_key.member_id,
            [(extent.first_offset, extent.last_offset) for extent in extents],
            fetch_offset=fetch_offset,
            max_records=self.records_left,
            batch_size=self._terms.batch_size,
            is_record_limit=self._terms.is_record_limit,
            now_ms=now_ms,
            node_id=self._terms.context.node_id,
            session_number=self._terms.session_number,
            aborted=[
                (extent.first_offset, extent.last_offset)
                for extent in aborted_extents(batches.records, extents, aborted)
            ],
        )
        if not acquired:
            self.has_found_aborted |= bool(aborted) and share_partition.next_fetch_offset() > fetch_offset
            return FetchedPartition()
        batches.acquired_range_count = len(acquired)
        count = sum(run.last_offset - run.first_offset + 1 for run in acquired)
        self._ranges_left -= len(acquired)
        self.records_left = self.records_left - count if self._ranges_left > 0 else 0
        self.acquired_count += count
        key = self._terms.session_key
        self._services.counters.delivered(key.group_id, acquired)
        self._services.clients.note(key.group_id, key.member_id, self._terms.context)
        self._services.directory.note_deadline(share_partition.key)
        delivered = _slice(batches.records, extents, acquired[0].first_offset, acquired[-1].last_offset)
        return FetchedPartition(
            records=delivered,
            acquired=acquired,
            acquired_from=share_partition,
            locked_until_ms=now_ms + share_partition.limits.record_lock_duration_ms,
        )

    def move_start(self, share_partition: SharePartition, log_start_offset: int) -> None:
        """Give up what the log no longer has: retention or DeleteRecords overtook the share-partition.

        Records that are held may be gone although what is read next is there.
        """
        move_start(self._services, self._writes, share_partition, log_start_offset)

    def _learn_size(self, share_partition: SharePartition, batches: ReadBatches) -> None:
        self._services.directory.read_size(share_partition.key).observe(
            size_bytes=batches.size_bytes, offset_count=batches.offset_count
        )


def _slice(
    records: memoryview, extents: Sequence[BatchExtent], first_offset: int, last_offset: int
) -> memoryview:
    """Return the batches that hold offsets between these two, both inclusive; they lie side by side."""
    begin = next((extent.position for extent in extents if extent.last_offset >= first_offset), 0)
    ends = [extent.position + extent.size_bytes for extent in extents if extent.first_offset <= last_offset]
    return records[begin : max(ends, default=0)]
