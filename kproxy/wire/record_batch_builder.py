"""Record batches as an idempotent producer writes them: format v2 (KIP-98), uncompressed, non-transactional."""

import struct
from collections.abc import Sequence
from typing import Final

import google_crc32c

from kproxy.wire.record_batches import HEADER_BYTES
from kproxy.wire.records import Record
from kproxy.wire.varints import encode_varint

_MAGIC: Final = 2
_NO_LEADER_EPOCH: Final = -1
_PLAIN_ATTRIBUTES: Final = 0
_UP_TO_CRC: Final = struct.Struct(">qiibI")
_COVERED_HEADER: Final = struct.Struct(">hiqqqhii")
_UNCOUNTED_BYTES: Final = 12
"""Base offset and batch length, which the batch length does not count."""

_NULL: Final = b"\x01"
_NO_HEADERS: Final = b"\x00"
_ATTRIBUTES_AND_TIMESTAMP_DELTA: Final = b"\x00\x00"
_LARGEST_VARINT_BYTES: Final = 5
_RECORD_FRAME_BYTES: Final = len(_ATTRIBUTES_AND_TIMESTAMP_DELTA) + 5 * _LARGEST_VARINT_BYTES
"""Length, offset delta, the lengths of key and value, and the count of the headers: varints, at their largest."""


def record_size_bytes(record: Record) -> int:
    """Return how many bytes `record` takes in a batch, at most. The batch itself has `HEADER_BYTES` more."""
    size = _RECORD_FRAME_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += 2 * _LARGEST_VARINT_BYTES + len(name.encode()) + len(value or b"")
    return size


def build_batch(
    records: Sequence[Record], *, producer_id: int, producer_epoch: int, base_sequence: int, timestamp_ms: int
) -> bytes:
    """Return one batch of `records`, at least one, all with `timestamp_ms`.

    Offsets count from 0 and the leader epoch is unknown, as in every Produce: the broker writes its own over them.
    """
    assert records, "a batch has at least one record"
    payload = b"".join([_encode_record(record, delta) for delta, record in enumerate(records)])
    covered = (
        _COVERED_HEADER.pack(
            *(_PLAIN_ATTRIBUTES, len(records) - 1, timestamp_ms, timestamp_ms),
            *(producer_id, producer_epoch, base_sequence, len(records)),
        )
        + payload
    )
    length = HEADER_BYTES - _UNCOUNTED_BYTES + len(payload)
    return _UP_TO_CRC.pack(0, length, _NO_LEADER_EPOCH, _MAGIC, google_crc32c.value(covered)) + covered


def _encode_record(record: Record, offset_delta: int) -> bytes:
    key, value, headers = record.key, record.value, record.headers
    body = b"".join(
        (
            _ATTRIBUTES_AND_TIMESTAMP_DELTA,
            _varint(offset_delta),
            _NULL if key is None else _varint(len(key)) + key,
            _NULL if value is None else _varint(len(value)) + value,
            _encode_headers(headers) if headers else _NO_HEADERS,
        )
    )
    return _varint(len(body)) + body


def _encode_headers(headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    parts = [_varint(len(headers))]
    for name, value in headers:
        name_bytes = name.encode()
        parts += (_varint(len(name_bytes)), name_bytes)
        parts += (_NULL,) if value is None else (_varint(len(value)), value)
    return b"".join(parts)


_SHORT_VARINTS: Final = tuple(encode_varint(number << 1) for number in range(2048))
"""The varints of nearly every length and offset delta there is, made once."""


def _varint(number: int) -> bytes:
    """Return the zigzag varint of a length, count or delta, which is not negative."""
    return _SHORT_VARINTS[number] if number < len(_SHORT_VARINTS) else encode_varint(number << 1)
