"""Records of Kafka's log, apart from the batches that carry them, and how to read them out of fetched batches.

Format v2 only (KIP-98). kproxy reads records one by one in its own topics alone; those of clients are passed on in
whole batches, see `record_batches`. Writing is the business of `record_batch_builder`.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import google_crc32c

from kproxy.errors import MalformedMessage
from kproxy.wire.record_batches import HEADER_BYTES, BatchExtent, batch_extents
from kproxy.wording import counted

LARGEST_DECOMPRESSED_BYTES: Final = 64 * 2**20
"""How much one compressed batch may grow to. kproxy's own batches have at most 1 MiB and are not compressed."""

_CRC_POSITION: Final = 17
_CRC: Final = struct.Struct(">I")
_HEADER_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_COVERED_POSITION: Final = _CRC_POSITION + _CRC.size
_HAS_LOG_APPEND_TIME: Final = 0x08
_CODEC_BITS: Final = 0x07
_GZIP_WINDOW_BITS: Final = 31


@dataclass(frozen=True, slots=True)
class Record:
    """One record. `timestamp_ms` counts from the epoch; -1, like an `offset` of -1, means not known yet."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = -1
    offset: int = -1


@dataclass(frozen=True, slots=True)
class DecodedRecords:
    """What a buffer of batches holds.

    `next_offset` follows the last whole batch, be it empty, a control batch or compacted: what to fetch next. It is
    never below the offset that was asked for.
    """

    records: list[Record]
    next_offset: int


class _Damage(Exception):
    """What is wrong with a batch, without its place."""


def decode_records(buffer: memoryview, *, from_offset: int = 0) -> DecodedRecords:
    """Return every record at or above `from_offset`, by rising offset.

    The checksum of every whole batch is verified; control batches are skipped, and so is a last batch that is cut
    off. Uncompressed and gzip batches are understood.

    Raises:
        MalformedMessage: a checksum that does not match, another codec or format, offsets that do not rise, or a
            record that cannot be. Names the base offset and the byte of the batch.
    """
    records: list[Record] = []
    next_offset = 0
    for extent in batch_extents(buffer):
        if extent.first_offset < next_offset:
            raise _malformed(extent, f"offset {next_offset} or a higher one was expected")
        next_offset = extent.last_offset + 1
        batch = bytes(buffer[extent.position : extent.position + extent.size_bytes])
        try:
            decoded = _decode_batch(batch, extent)
        except _Damage as damage:
            raise _malformed(extent, str(damage)) from None
        if extent.first_offset < from_offset:
            decoded = [record for record in decoded if record.offset >= from_offset]
        records += decoded
    return DecodedRecords(records, max(next_offset, from_offset))


def _malformed(extent: BatchExtent, damage: str) -> MalformedMessage:
    place = f"base offset {extent.first_offset} (byte {extent.position})"
    return MalformedMessage(f"record batch at {place}: {damage}")


def _decode_batch(batch: bytes, extent: BatchExtent) -> list[Record]:
    (crc,) = _CRC.unpack_from(batch, _CRC_POSITION)
    if google_crc32c.value(batch[_COVERED_POSITION:]) != crc:
        raise _Damage("its checksum does not match")
    if extent.is_control:
        return []
    attributes, _, base_timestamp_ms, max_timestamp_ms, _, _, _, count = _HEADER_AFTER_CRC.unpack_from(
        batch, _COVERED_POSITION
    )
    codec = attributes & _CODEC_BITS
    payload, position = (_decompress(codec, batch[HEADER_BYTES:]), 0) if codec else (batch, HEADER_BYTES)
    append_time_ms = max_timestamp_ms if attributes & _HAS_LOG_APPEND_TIME else None
    reader = _RecordReader(payload, position, extent, base_timestamp_ms, append_time_ms)
    try:
        return list(reader.records(count))
    except IndexError:
        raise _Damage("it ends within a record") from None
    except UnicodeDecodeError:
        raise _Damage("a header's name is no UTF-8") from None


def _gunzip(payload: bytes) -> bytes:
    stream = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
    try:
        decompressed = stream.decompress(payload, LARGEST_DECOMPRESSED_BYTES)
    except zlib.error as error:
        raise _Damage(f"gzip: {error}") from None
    if not stream.eof:
        raise _Damage(f"gzip: cut off, or more than {LARGEST_DECOMPRESSED_BYTES} bytes")
    return decompressed


_DECOMPRESSORS: Final[Mapping[int, Callable[[bytes], bytes]]] = {1: _gunzip}
_CODEC_NAMES: Final[Mapping[int, str]] = {2: "snappy", 3: "lz4", 4: "zstd"}


def _decompress(codec: int, payload: bytes) -> bytes:
    decompressor = _DECOMPRESSORS.get(codec)
    if decompressor is None:
        raise _Damage(f"codec {_CODEC_NAMES.get(codec, codec)} is not supported, only none and gzip")
    return decompressor(payload)


class _RecordReader:
    """Reads the records of one batch, one after the other. IndexError: the payload ends too early."""

    __slots__ = ("_append_time_ms", "_base_timestamp_ms", "_extent", "_payload", "_position")

    def __init__(
        self,
        payload: bytes,
        position: int,
        extent: BatchExtent,
        base_timestamp_ms: int,
        append_time_ms: int | None,
    ) -> None:
        self._payload: Final = payload
        self._position = position
        self._extent: Final = extent
        self._base_timestamp_ms: Final = base_timestamp_ms
        self._append_time_ms: Final = append_time_ms

    def records(self, count: int) -> Iterator[Record]:
        """Yield the records, exactly `count` of them."""
        if count < 0:
            raise _Damage(f"it claims {counted(count, 'record')}")
        next_offset = self._extent.first_offset
        for _ in range(count):
            record = self._record()
            if not next_offset <= record.offset <= self._extent.last_offset:
                raise _Damage(f"record {record.offset} is out of place")
            next_offset = record.offset + 1
            yield record
        if self._position != len(self._payload):
            raise _Damage(f"{counted(len(self._payload) - self._position, 'byte')} behind its last record")

    def _record(self) -> Record:
        length = self._varint()
        end = self._position + length
        self._position += 1  # attributes, of which no bit has a meaning
        timestamp_ms = self._base_timestamp_ms + self._varint()
        offset = self._extent.first_offset + self._varint()
        key, value = self._bytes(), self._bytes()
        headers = self._headers()
        if self._position != end:
            raise _Damage(f"record {offset} does not fill its {counted(length, 'byte')}")
        if self._append_time_ms is not None:
            timestamp_ms = self._append_time_ms
        return Record(key, value, headers, timestamp_ms, offset)

    def _headers(self) -> tuple[tuple[str, bytes | None], ...]:
        count = self._varint()
        if count == 0:
            return ()
        if not 0 < count <= len(self._payload):
            raise _Damage(f"a record with {counted(count, 'header')}")
        return tuple([self._header() for _ in range(count)])

    def _header(self) -> tuple[str, bytes | None]:
        name = self._bytes()
        if name is None:
            raise _Damage("a header without a name")
        return name.decode(), self._bytes()

    def _bytes(self) -> bytes | None:
        length = self._varint()
        if length < 0:
            if length == -1:
                return None
            raise _Damage(f"a length of {counted(length, 'byte')}")
        start = self._position
        end = self._position = start + length
        if end > len(self._payload):
            raise _Damage("it ends within a record")
        return self._payload[start:end]

    def _varint(self) -> int:
        """Return the next zigzag number, of at most 64 bits."""
        byte = self._payload[self._position]
        self._position += 1
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1)
        number = byte & 0x7F
        for shift in range(7, 70, 7):
            byte = self._payload[self._position]
            self._position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise _Damage("a varint without an end")
