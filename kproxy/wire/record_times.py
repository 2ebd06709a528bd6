"""When a record was written, told from the batch that it came in. Nothing is decompressed."""

import struct
from dataclasses import dataclass
from typing import Final

from kproxy.errors import MalformedMessage
from kproxy.wire.record_batches import BatchExtent, walk_extents
from kproxy.wire.records import decode_records

_TIMES_POSITION: Final = 21
_TIMES: Final = struct.Struct(">hiqq")
"""Attributes, last offset delta, base timestamp, largest timestamp."""

_CODEC_BITS: Final = 0x07
_HAS_LOG_APPEND_TIME: Final = 0x08
_NO_TIMESTAMP: Final = -1


@dataclass(frozen=True, slots=True)
class RecordTime:
    """A record's timestamp in milliseconds since the epoch; unless `is_exact` it may be earlier, but not later."""

    timestamp_ms: int
    is_exact: bool


def time_of_first_record(records: memoryview, from_offset: int) -> RecordTime | None:
    """Return the time of the first record at or above `from_offset`, None when `records` hold none with a timestamp.

    Of `records` a batch that is cut off at the end is left out. Of a compressed batch that does not begin there, the
    largest timestamp stands for all; the base timestamp of a batch is the one of its first record (KIP-98), unless
    compaction took that.

    Raises:
        MalformedMessage: the bytes are no record batches.
    """
    for extent in walk_extents(records):
        if extent.is_control or extent.last_offset < from_offset:
            continue
        found = _time_in(records[extent.position : extent.position + extent.size_bytes], extent, from_offset)
        if found is not None:
            return found if found.timestamp_ms > _NO_TIMESTAMP else None
    return None


def _time_in(batch: memoryview, extent: BatchExtent, from_offset: int) -> RecordTime | None:
    attributes, _, base_timestamp_ms, max_timestamp_ms = _TIMES.unpack_from(batch, _TIMES_POSITION)
    if attributes & _HAS_LOG_APPEND_TIME:
        return RecordTime(max_timestamp_ms, is_exact=True)
    if from_offset <= extent.first_offset:
        return RecordTime(base_timestamp_ms, is_exact=True)
    if attributes & _CODEC_BITS:
        return RecordTime(max_timestamp_ms, is_exact=False)
    try:
        decoded = decode_records(batch, from_offset=from_offset).records
    except MalformedMessage:
        return RecordTime(max_timestamp_ms, is_exact=False)
    return RecordTime(decoded[0].timestamp_ms, is_exact=True) if decoded else None
