"""Our batches and kafka-python's: the same bytes for the same records, each read by the other."""

from typing import Final, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record, decode_records

NOW_MS: Final = 1_700_000_000_000
Header: TypeAlias = tuple[str, bytes | None]

contents = st.none() | st.binary(max_size=300)
header_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
headers = st.lists(st.tuples(header_names, contents), max_size=3).map(tuple)
records = st.builds(Record, contents, contents, headers)


def theirs(written: list[Record], *, compression_type: int = 0) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression_type,
        is_transactional=0,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
        batch_size=1 << 20,
    )
    for offset, record in enumerate(written):
        builder.append(
            offset, timestamp=NOW_MS, key=record.key, value=record.value, headers=list(record.headers)
        )
    return bytes(builder.build())


def ours(written: list[Record]) -> bytes:
    return build_batch(written, producer_id=7, producer_epoch=3, base_sequence=11, timestamp_ms=NOW_MS)


@given(st.lists(records, min_size=1, max_size=8))
def test_kafka_python_reads_what_we_build(written: list[Record]) -> None:
    # When
    batch = DefaultRecordBatch(ours(written))

    # Then
    assert batch.validate_crc()
    assert [(record.key, record.value, tuple(record.headers)) for record in batch] == [
        (record.key, record.value, record.headers) for record in written
    ]


@given(st.lists(records, min_size=1, max_size=8))
def test_kafka_python_builds_the_same_bytes(written: list[Record]) -> None:
    # A producer that knows no leader epoch writes -1 here, kafka-python 0; the checksum does not cover it.
    without_leader_epoch = [batch[:12] + batch[16:] for batch in (ours(written), theirs(written))]
    assert without_leader_epoch[0] == without_leader_epoch[1]


@pytest.mark.parametrize("compression_type", [0, DefaultRecordBatch.CODEC_GZIP])
@given(written=st.lists(records, min_size=1, max_size=8))
def test_we_read_what_kafka_python_builds(compression_type: int, written: list[Record]) -> None:
    # When
    decoded = decode_records(memoryview(theirs(written, compression_type=compression_type)))

    # Then
    assert [(record.key, record.value, record.headers) for record in decoded.records] == [
        (record.key, record.value, record.headers) for record in written
    ]
