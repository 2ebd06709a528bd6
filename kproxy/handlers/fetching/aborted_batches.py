"""Which of the batches that a read_committed Fetch returned belong to transactions that were aborted.

A broker sends the records of aborted transactions along, and beside them whose transactions, and from which offset on.
Whoever reads skips the transactional batches of such a producer up to the marker that ends its transaction.

Source: KIP-98, "READ_COMMITTED"; `SharePartition.fetchAbortedTransactionRecordBatches`.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from kproxy.wire.messages.fetch_response import AbortedTransaction
from kproxy.wire.record_batches import HEADER_BYTES, BatchExtent

_NO_PRODUCER_ID: Final = -1
_IS_TRANSACTIONAL: Final = 0x10
_ATTRIBUTES: Final = struct.Struct(">h")
_ATTRIBUTES_POSITION: Final = 21
_PRODUCER_ID: Final = struct.Struct(">q")
_PRODUCER_ID_POSITION: Final = 43

_ABORT_MARKER_TYPE: Final = 0
_MARKER_KEY: Final = struct.Struct(">hh")
"""The key of a marker: its version, and its type."""

_FIRST_OFFSET: Final = attrgetter("first_offset")


def aborted_extents(
    records: memoryview, extents: Sequence[BatchExtent], aborted: Iterable[AbortedTransaction]
) -> list[BatchExtent]:
    """Return those of `extents`, in order, that hold records of aborted transactions.

    `extents` are batches of `records` in ascending order, from the first that the broker sent on, and `aborted` is what
    it sent with them, in any order. A producer may have aborted several transactions. A batch with markers is never
    among the result.
    """
    waiting = sorted(aborted, key=_FIRST_OFFSET, reverse=True)
    if not waiting:
        return []
    producer_ids: set[int] = set()
    found: list[BatchExtent] = []
    for extent in extents:
        (producer_id,) = _PRODUCER_ID.unpack_from(records, extent.position + _PRODUCER_ID_POSITION)
        if producer_id == _NO_PRODUCER_ID:
            continue
        while waiting and waiting[-1].first_offset <= extent.last_offset:
            producer_ids.add(waiting.pop().producer_id)
        if extent.is_control:
            if _is_abort_marker(records, extent):
                producer_ids.discard(producer_id)
        elif producer_id in producer_ids and _is_transactional(records, extent):
            found.append(extent)
    return found


def _is_transactional(records: memoryview, extent: BatchExtent) -> bool:
    (attributes,) = _ATTRIBUTES.unpack_from(records, extent.position + _ATTRIBUTES_POSITION)
    return bool(attributes & _IS_TRANSACTIONAL)


def _is_abort_marker(records: memoryview, extent: BatchExtent) -> bool:
    """Tell whether a control batch says that a transaction was aborted; its only record may be compacted away."""
    record = bytes(records[extent.position + HEADER_BYTES : extent.position + extent.size_bytes])
    fields = _varints(record)
    try:
        for _length_and_attributes_and_deltas in range(4):
            next(fields)
        key_length, key_position = next(fields)
        if key_length < _MARKER_KEY.size:
            return False
        _, marker_type = _MARKER_KEY.unpack_from(record, key_position)
    except (StopIteration, struct.error):
        return False
    return bool(marker_type == _ABORT_MARKER_TYPE)


def _varints(record: bytes) -> Iterator[tuple[int, int]]:
    """Yield the zigzag numbers that stand one after the other, each with the position behind it.

    The attributes of a record are one byte, 0, which reads as such a number.
    """
    number = shift = 0
    for position, byte in enumerate(record, 1):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield (number >> 1) ^ -(number & 1), position
            number = shift = 0
