"""Record batches (format v2) made by hand, for tests that need real bytes of a log."""

import struct
from collections.abc import Sequence

import google_crc32c

_AFTER_CRC = struct.Struct(">hiqqqhii")
_BEFORE_CRC = struct.Struct(">qiib")


def record_batch(
    first_offset: int,
    values: Sequence[bytes],
    *,
    timestamp_ms: int = 0,
    last_offset: int | None = None,
    leader_epoch: int = 0,
) -> bytes:
    """Return one uncompressed batch of `values` at successive offsets.

    `last_offset` above that of the last record makes a batch whose tail was compacted away.
    """
    records = b"".join(_record(delta, value) for delta, value in enumerate(values))
    last_delta = len(values) - 1 if last_offset is None else last_offset - first_offset
    covered = _AFTER_CRC.pack(0, last_delta, timestamp_ms, timestamp_ms, -1, -1, -1, len(values)) + records
    head = _BEFORE_CRC.pack(first_offset, len(covered) + 9, leader_epoch, 2)
    return head + struct.pack(">I", google_crc32c.value(covered)) + covered


def _record(offset_delta: int, value: bytes) -> bytes:
    body = (
        b"\x00" + _varint(0) + _varint(offset_delta) + _varint(-1) + _varint(len(value)) + value + _varint(0)
    )
    return _varint(len(body)) + body


def _varint(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while zigzag > 0x7F:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)
