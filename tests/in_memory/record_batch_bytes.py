"""Record batches (format v2) made by hand, for tests that need real bytes of a log."""

import struct
from collections.abc import Sequence

import google_crc32c

_AFTER_CRC = struct.Struct(">hiqqqhii")
_BEFORE_CRC = struct.Struct(">qiib")

_IS_TRANSACTIONAL = 0x10
_IS_CONTROL = 0x20
_MARKER_VALUE = b"\0\0\0\0\0\0"
"""Version, and the epoch of the transaction coordinator."""


def record_batch(
    first_offset: int,
    values: Sequence[bytes],
    *,
    timestamp_ms: int = 0,
    last_offset: int | None = None,
    leader_epoch: int = 0,
    timestamps_ms: Sequence[int] = (),
    attributes: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
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
    covered = (
        _AFTER_CRC.pack(
            attributes, last_delta, *span, producer_id, producer_epoch, base_sequence, len(values)
        )
        + records
    )
    return _with_head(first_offset, covered, leader_epoch)


def transactional_batch(
    first_offset: int,
    values: Sequence[bytes],
    *,
    producer_id: int,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    timestamp_ms: int = 0,
) -> bytes:
    """Return a batch of `values` that belongs to a transaction of `producer_id`."""
    return record_batch(
        first_offset,
        values,
        attributes=_IS_TRANSACTIONAL,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        timestamp_ms=timestamp_ms,
    )


def transaction_marker(offset: int, *, producer_id: int, is_commit: bool) -> bytes:
    """Return the control batch that ends the transaction of `producer_id`, as a broker writes it."""
    marker = _record(0, _MARKER_VALUE, 0, key=struct.pack(">hh", 0, int(is_commit)))
    covered = _AFTER_CRC.pack(_IS_TRANSACTIONAL | _IS_CONTROL, 0, 0, 0, producer_id, 0, -1, 1) + marker
    return _with_head(offset, covered, 0)


def _with_head(first_offset: int, covered: bytes, leader_epoch: int) -> bytes:
    head = _BEFORE_CRC.pack(first_offset, len(covered) + 9, leader_epoch, 2)
    return head + struct.pack(">I", google_crc32c.value(covered)) + covered


def _record(offset_delta: int, value: bytes, timestamp_delta: int, *, key: bytes | None = None) -> bytes:
    head = b"\x00" + _varint(timestamp_delta) + _varint(offset_delta)
    head += _varint(-1) if key is None else _varint(len(key)) + key
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
