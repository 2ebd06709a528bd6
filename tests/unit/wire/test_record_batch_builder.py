"""`build_batch`: what `decode_records` reads, byte for byte what another producer writes (see tests/interop)."""

import struct

import google_crc32c
from hypothesis import given
from hypothesis import strategies as st

from kproxy.wire.record_batch_builder import build_batch, record_size_bytes
from kproxy.wire.record_batches import HEADER_BYTES, BatchExtent, batch_extents
from kproxy.wire.records import Record, decode_records

NOW_MS = 1_700_000_000_000

contents = st.none() | st.binary(max_size=40)
records = st.builds(
    Record,
    contents,
    contents,
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), contents), max_size=3
    ).map(tuple),
)


def batch_of(*records: Record) -> bytes:
    return build_batch(records, producer_id=7, producer_epoch=3, base_sequence=11, timestamp_ms=NOW_MS)


@given(st.lists(records, min_size=1, max_size=20))
def test_what_was_built_is_what_is_read(written: list[Record]) -> None:
    # When
    read = decode_records(memoryview(batch_of(*written)))

    # Then
    assert [(record.key, record.value, record.headers) for record in read.records] == [
        (record.key, record.value, record.headers) for record in written
    ]
    assert [record.offset for record in read.records] == list(range(len(written)))
    assert {record.timestamp_ms for record in read.records} == {NOW_MS}
    assert read.next_offset == len(written)


def test_long_keys_and_many_records_have_longer_varints() -> None:
    written = [Record(b"k" * 5_000, b"v" * 70_000, (("h" * 3_000, b"x" * 2_048),))] * 2_100
    read = decode_records(memoryview(batch_of(*written)))
    assert [record.value for record in read.records] == [record.value for record in written]
    assert [record.headers for record in read.records] == [record.headers for record in written]


def test_the_header_names_the_producer_and_counts_from_zero() -> None:
    # When
    batch = batch_of(Record(b"a", b"b"), Record(b"c", None))

    # Then
    assert struct.unpack_from(">qiib", batch) == (0, len(batch) - 12, -1, 2)
    assert struct.unpack_from(">hiqqqhii", batch, 21) == (0, 1, NOW_MS, NOW_MS, 7, 3, 11, 2)
    assert struct.unpack_from(">I", batch, 17) == (google_crc32c.value(batch[21:]),)
    assert batch_extents(memoryview(batch)) == [BatchExtent(0, 1, 0, len(batch))]


@given(st.lists(records, min_size=1, max_size=5))
def test_no_record_takes_more_than_its_size(written: list[Record]) -> None:
    batch = batch_of(*written)
    assert len(batch) <= HEADER_BYTES + sum(map(record_size_bytes, written))
