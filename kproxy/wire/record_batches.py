"""Record batch headers, read in place: where each batch lies and which offsets it spans.

Format v2 only (KIP-98), which every broker from 0.11 stores new records in. Nothing is decompressed, no
record is looked at, and the CRC is not checked: the bytes go on as they came, and who reads the records
checks it.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kproxy.errors import MalformedMessage

HEADER_BYTES: Final = 61
"""The size of a batch without records."""

_LOG_OVERHEAD_BYTES: Final = 12
"""Base offset and batch length, which the batch length does not count."""

_HEADER: Final = struct.Struct(">qiibIhi")
_IS_CONTROL: Final = 0x20
_LARGEST_OFFSET: Final = 2**63 - 1


@dataclass(slots=True)
class BatchExtent:
    """Where one batch lies and what it holds.

    Offsets are inclusive. Offsets within may be missing: compaction leaves the extent of a batch as it was.
    `position` counts from the start of the buffer, so `records[position : position + size_bytes]` is the
    batch. A control batch holds markers of transactions instead of records.
    """

    first_offset: int
    last_offset: int
    position: int
    size_bytes: int
    is_control: bool = False


def batch_extents(records: memoryview) -> list[BatchExtent]:
    """Return all that `walk_extents` yields. Raises as it does."""
    return list(walk_extents(records))


def walk_extents(records: memoryview) -> Iterator[BatchExtent]:
    """Yield the extents of all whole batches, in order of position. A batch cut off at the end is left out.

    Each header is read when its extent is asked for: whoever needs the first few does not pay for the others.

    Raises:
        MalformedMessage: a batch of another format (the text names its magic), or a header that cannot be
        true.
    """
    position, end = 0, len(records)
    while position + _HEADER.size <= end:
        base_offset, batch_length, _, magic, _, attributes, last_offset_delta = _HEADER.unpack_from(
            records, position
        )
        if magic != 2:
            raise MalformedMessage(f"record batch at byte {position} has magic {magic}; only 2 is supported")
        size_bytes = batch_length + _LOG_OVERHEAD_BYTES
        last_offset = base_offset + last_offset_delta
        if size_bytes < HEADER_BYTES or not 0 <= base_offset <= last_offset <= _LARGEST_OFFSET:
            raise MalformedMessage(
                f"record batch at byte {position}: length {batch_length}, "
                f"base offset {base_offset}, last offset delta {last_offset_delta}"
            )
        if position + size_bytes > end:
            return
        yield BatchExtent(base_offset, last_offset, position, size_bytes, bool(attributes & _IS_CONTROL))
        position += size_bytes
