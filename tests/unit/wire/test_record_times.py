"""The time of a record, as far as its batch tells without being decompressed."""

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire.record_times import RecordTime, time_of_first_record
from tests.in_memory.record_batch_bytes import record_batch

CONTROL, LOG_APPEND_TIME, LZ4 = 0x20, 0x08, 3


def batch_of(*timestamps: int, first_offset: int = 10, attributes: int = 0) -> bytes:
    """Return a batch of records with these timestamps."""
    values = [b"v"] * len(timestamps)
    return record_batch(first_offset, values, timestamps_ms=timestamps, attributes=attributes)


def time_at(offset: int, *batches: bytes) -> RecordTime | None:
    return time_of_first_record(memoryview(b"".join(batches)), offset)


@pytest.mark.parametrize(("offset", "timestamp"), [(0, 1_000), (10, 1_000), (11, 900), (12, 3_000)])
def test_the_record_at_an_offset_has_its_own_time(offset: int, timestamp: int) -> None:
    assert time_at(offset, batch_of(1_000, 900, 3_000)) == RecordTime(timestamp, is_exact=True)


def test_the_first_record_of_a_compressed_batch_has_the_base_timestamp() -> None:
    assert time_at(10, batch_of(1_000, 3_000, attributes=LZ4)) == RecordTime(1_000, is_exact=True)


def test_a_later_record_of_a_compressed_batch_is_no_younger_than_the_youngest() -> None:
    assert time_at(11, batch_of(1_000, 2_000, 3_000, attributes=LZ4)) == RecordTime(3_000, is_exact=False)


def test_where_the_broker_sets_the_time_it_is_the_same_for_all() -> None:
    batch = batch_of(1_000, 3_000, attributes=LZ4 | LOG_APPEND_TIME)
    assert time_at(11, batch) == RecordTime(3_000, is_exact=True)


def test_markers_of_transactions_are_no_records() -> None:
    marker = batch_of(1_000, attributes=CONTROL)
    assert time_at(10, marker) is None
    assert time_at(10, marker, batch_of(2_000, first_offset=11)) == RecordTime(2_000, is_exact=True)


def test_a_batch_whose_tail_was_compacted_leaves_it_to_the_next_one() -> None:
    compacted = record_batch(10, [b"a"], timestamp_ms=1_000, last_offset=15)
    assert time_at(12, compacted) is None
    assert time_at(12, compacted, batch_of(2_000, first_offset=16)) == RecordTime(2_000, is_exact=True)


def test_a_batch_below_the_offset_is_passed() -> None:
    assert time_at(11, batch_of(1_000), batch_of(2_000, first_offset=11)) == RecordTime(2_000, is_exact=True)


def test_no_records_and_no_timestamps_are_no_time() -> None:
    assert time_at(0) is None
    assert time_at(10, batch_of(-1)) is None


def test_a_batch_whose_checksum_is_wrong_still_has_its_youngest_time() -> None:
    damaged = bytearray(batch_of(1_000, 3_000))
    damaged[-1] ^= 1
    assert time_at(11, bytes(damaged)) == RecordTime(3_000, is_exact=False)


def test_bytes_that_are_no_batch_are_refused() -> None:
    with pytest.raises(MalformedMessage):
        time_at(0, bytes(61))
