"""`decode_records`: every record of every whole batch, and a named error for whatever cannot be."""

import gzip
import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import MalformedMessage
from kproxy.wire import records as records_module
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import DecodedRecords, Record, decode_records

NOW_MS = 1_700_000_000_000
ATTRIBUTES = 21
LAST_OFFSET_DELTA = 23
MAX_TIMESTAMP = 35
COUNT = 57


def batch_at(first_offset: int, *values: bytes) -> bytes:
    batch = build_batch(
        [Record(b"k", value) for value in values],
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        timestamp_ms=NOW_MS,
    )
    return first_offset.to_bytes(8, "big") + batch[8:]


def sealed(batch: bytes) -> bytes:
    """`batch` with the length and the checksum that its other bytes ask for."""
    covered = batch[21:]
    return (
        batch[:8]
        + struct.pack(">i", len(batch) - 12)
        + batch[12:17]
        + struct.pack(">I", google_crc32c.value(covered))
        + covered
    )


def with_field(batch: bytes, position: int, layout: str, value: int) -> bytes:
    content = struct.pack(layout, value)
    return sealed(batch[:position] + content + batch[position + len(content) :])


def with_payload(payload: bytes, *, count: int = 1, attributes: int = 0) -> bytes:
    batch = batch_at(0, *[b""] * max(count, 1))[:61] + payload
    return with_field(with_field(batch, COUNT, ">i", count), ATTRIBUTES, ">h", attributes)


def read(*batches: bytes, from_offset: int = 0) -> DecodedRecords:
    return decode_records(memoryview(b"".join(batches)), from_offset=from_offset)


def values_of(decoded: DecodedRecords) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in decoded.records]


def test_records_come_by_rising_offset_over_all_batches() -> None:
    decoded = read(batch_at(100, b"a", b"b"), batch_at(110, b"c"))
    assert values_of(decoded) == [(100, b"a"), (101, b"b"), (110, b"c")]
    assert decoded.next_offset == 111


def test_records_below_the_offset_asked_for_are_left_out() -> None:
    decoded = read(batch_at(100, b"a", b"b", b"c"), batch_at(103, b"d"), from_offset=102)
    assert values_of(decoded) == [(102, b"c"), (103, b"d")]


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    decoded = read(batch_at(5, b"a"), batch_at(6, b"b")[:-1])
    assert values_of(decoded) == [(5, b"a")]
    assert decoded.next_offset == 6


def test_an_empty_buffer_leaves_the_offset_where_it_is() -> None:
    assert read(from_offset=42) == DecodedRecords([], 42)


def test_a_control_batch_is_skipped_and_moves_the_offset_on() -> None:
    control = with_field(batch_at(7, b"marker"), ATTRIBUTES, ">h", 0x20)
    assert read(control) == DecodedRecords([], 8)


def test_a_compacted_batch_moves_the_offset_past_its_end() -> None:
    compacted = with_field(batch_at(7, b"left"), LAST_OFFSET_DELTA, ">i", 9)
    decoded = read(compacted)
    assert values_of(decoded) == [(7, b"left")]
    assert decoded.next_offset == 17


def test_log_append_time_stands_in_the_header() -> None:
    stamped = with_field(with_field(batch_at(0, b"a"), MAX_TIMESTAMP, ">q", 55), ATTRIBUTES, ">h", 0x08)
    assert [record.timestamp_ms for record in read(stamped).records] == [55]


def test_a_gzip_batch_is_read() -> None:
    plain = batch_at(3, b"a" * 500, b"b" * 500)
    packed = with_field(plain[:61] + gzip.compress(plain[61:]), ATTRIBUTES, ">h", 1)
    assert read(packed) == read(plain)


@pytest.mark.parametrize(("codec", "name"), [(2, "snappy"), (3, "lz4"), (4, "zstd"), (7, "7")])
def test_other_codecs_are_named(codec: int, name: str) -> None:
    with pytest.raises(MalformedMessage, match=f"codec {name} is not supported"):
        read(with_payload(b"whatever", attributes=codec))


def test_gzip_that_is_none_or_is_cut_off_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="gzip"):
        read(with_payload(b"whatever", attributes=1))
    with pytest.raises(MalformedMessage, match="gzip: cut off"):
        read(with_payload(gzip.compress(b"x" * 100)[:-9], attributes=1))


def test_gzip_that_grows_without_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_module, "LARGEST_DECOMPRESSED_BYTES", 1_000)
    with pytest.raises(MalformedMessage, match="more than 1000 bytes"):
        read(with_payload(gzip.compress(b"\0" * 1_001), attributes=1))


@pytest.mark.parametrize(
    ("payload", "count", "damage"),
    [
        (b"\x0c\x00\x00\x00\x01\x01\x00\x00", 1, "1 byte behind its last record"),
        (b"\x0e\x00\x00\x00\x01\x01\x00", 1, "does not fill its 7 bytes"),
        (b"\x0e\x00\x00\x00\x01\x01", 1, "ends within a record"),
        (b"\x0e\x00\x00\x00\x03\x01\x00", 1, "a length of -2 bytes"),
        (b"\x0e\x00\x00\x00\x7e\x01\x00", 1, "ends within a record"),
        (b"\x0c\x00\x00\x02\x01\x01\x00", 1, "record 1 is out of place"),
        (b"\x0c\x00\x00\x01\x01\x01\x00", 1, "record -1 is out of place"),
        (b"\x0c\x00\x00\x00\x01\x01\x00" * 2, 2, "record 0 is out of place"),
        (b"\x0c\x00\x00\x00\x01\x01\x01", 1, "a record with -1 headers"),
        (b"\x0e\x00\x00\x00\x01\x01\xfe\x7e", 1, "a record with 8127 headers"),
        (b"\x10\x00\x00\x00\x01\x01\x02\x01\x01", 1, "a header without a name"),
        (b"\x12\x00\x00\x00\x01\x01\x02\x02\xff\x01", 1, "no UTF-8"),
        (b"\x0c\x00" + b"\xff" * 10 + b"\x00\x01\x01\x00", 1, "a varint without an end"),
        (b"", 1, "ends within a record"),
        (b"", -1, "it claims -1 records"),
        (b"left", 0, "4 bytes behind its last record"),
    ],
)
def test_a_record_that_cannot_be_is_named(payload: bytes, count: int, damage: str) -> None:
    with pytest.raises(MalformedMessage, match=damage):
        read(with_payload(payload, count=count))


def test_a_flipped_bit_under_the_checksum_is_noticed() -> None:
    batch = bytearray(batch_at(9, b"value"))
    batch[-2] ^= 1
    with pytest.raises(MalformedMessage, match=r"base offset 9 \(byte 0\): its checksum does not match"):
        read(bytes(batch))


def test_batches_whose_offsets_do_not_rise_are_refused() -> None:
    with pytest.raises(MalformedMessage, match="offset 102 or a higher one was expected"):
        read(batch_at(100, b"a", b"b"), batch_at(101, b"c"))


@given(
    st.lists(st.binary(max_size=20), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0), st.integers(0, 7)), min_size=1, max_size=3),
)
def test_flipped_bits_are_refused_or_read_but_never_anything_else(
    values: list[bytes], flips: list[tuple[int, int]]
) -> None:
    # Given
    batch = bytearray(batch_at(50, *values))
    for position, bit in flips:
        batch[position % len(batch)] ^= 1 << bit

    # When
    for flipped in (bytes(batch), sealed(bytes(batch))):
        try:
            decoded = read(flipped)
        except MalformedMessage:
            continue

        # Then
        offsets = [record.offset for record in decoded.records]
        assert offsets == sorted(set(offsets))
        assert all(offset < decoded.next_offset for offset in offsets)
