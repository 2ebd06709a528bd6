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
    timestamps_ms: Sequence[int] = (),
    attributes: int = 0,
) -> bytes:
    """Return one uncompressed batch of `values` at successive offsets, whatever its `attributes` say.

    `last_offset` above that of the last record makes a batch whose tail was compacted away. All records are of
    `timestamp_ms`, unless each has one of `timestamps_ms`.
    """
    times = timestamps_ms or [timestamp_ms] * len(values)
    records = b"".join(
        _record(delta, value, time - times[0])
        for delta, (value, time) in enumerate(zip(values, times, strict=True))
    )
    last_delta = len(values) - 1 if last_offset is None else last_offset - first_offset
    span = (times[0], max(times)) if times else (timestamp_ms, timestamp_ms)
    covered = _AFTER_CRC.pack(attributes, last_delta, *span, -1, -1, -1, len(values)) + records
    head = _BEFORE_CRC.pack(first_offset, len(covered) + 9, leader_epoch, 2)
    return head + struct.pack(">I", google_crc32c.value(covered)) + covered


def _record(offset_delta: int, value: bytes, timestamp_delta: int) -> bytes:
    head = b"\x00" + _varint(timestamp_delta) + _varint(offset_delta) + _varint(-1)
    body = head + _varint(len(value)) + value + _varint(0)
    return _varint(len(body)) + body


def _varint(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while zigzag > 0x7F:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)
