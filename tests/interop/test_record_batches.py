"""Batches that kafka-python builds, and its own reader beside ours."""

import pytest
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecordsBuilder

from kproxy.errors import MalformedMessage
from kproxy.wire.record_batches import BatchExtent, batch_extents


def batch_of(count: int, *, first_offset: int, compression_type: int = 0) -> bytes:
    """Return a batch of `count` records that begins at `first_offset`, as a broker would store it."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression_type,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for offset in range(count):
        builder.append(offset, timestamp=1_700_000_000_000, key=b"key", value=b"value" * 10, headers=[])
    # A producer counts from 0; the broker writes the offset of the log over it.
    return first_offset.to_bytes(8, "big") + bytes(builder.build())[8:]


@pytest.mark.parametrize("compression_type", [0, DefaultRecordBatch.CODEC_GZIP])
def test_extents_are_those_of_the_records_within(compression_type: int) -> None:
    # Given
    first = batch_of(7, first_offset=100, compression_type=compression_type)
    second = batch_of(1, first_offset=107, compression_type=compression_type)

    # When
    extents = batch_extents(memoryview(first + second))

    # Then
    assert extents == [
        BatchExtent(100, 106, 0, len(first)),
        BatchExtent(107, 107, len(first), len(second)),
    ]
    assert [record.offset for record in DefaultRecordBatch(first)] == list(range(100, 107))


@pytest.mark.parametrize("magic", [0, 1])
def test_the_formats_before_kafka_0_11_are_named(magic: int) -> None:
    builder = MemoryRecordsBuilder(magic=magic, compression_type=0, batch_size=1 << 20)
    builder.append(timestamp=1, key=b"key", value=b"value" * 10)
    builder.close()
    with pytest.raises(MalformedMessage, match=f"magic {magic}"):
        batch_extents(memoryview(bytes(builder.buffer())))
