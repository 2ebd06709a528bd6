"""Log records as rows: what every reader yields, whatever the records came from."""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kproxy.wire.records import Record

RAW_SCHEMA: Final = StructType(
    [
        StructField("log_partition", IntegerType(), nullable=False),
        StructField("log_offset", LongType(), nullable=False),
        StructField("timestamp_ms", LongType(), nullable=False),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField(
            "headers",
            ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
        ),
    ]
)
"""A row of the log. Times count milliseconds from the epoch; headers are null or empty where a record has none."""

RAW_ARROW_SCHEMA: Final = pa.schema(
    [
        pa.field("log_partition", pa.int32(), nullable=False),
        pa.field("log_offset", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
"""The same for pyarrow."""


def batch_of(partition: int, records: Sequence[Record]) -> pa.RecordBatch:
    """Return records of one log partition as a batch of rows."""
    return batch_of_partitions([partition] * len(records), records)


def batch_of_partitions(partitions: Sequence[int], records: Sequence[Record]) -> pa.RecordBatch:
    """Return records as a batch of rows; each is of the log partition at its place in `partitions`."""
    columns = [
        partitions,
        [record.offset for record in records],
        [record.timestamp_ms for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [[{"key": name, "value": value} for name, value in record.headers] for record in records],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RAW_ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW_ARROW_SCHEMA)


def records_of(batch: pa.RecordBatch) -> Iterator[tuple[int, Record]]:
    """Yield each row of a batch as its log partition and its record."""
    columns = (batch.column(name).to_pylist() for name in RAW_ARROW_SCHEMA.names)
    for partition, offset, timestamp_ms, key, value, headers in zip(*columns, strict=True):
        pairs = tuple((header["key"], header["value"]) for header in headers or ())
        yield partition, Record(key, value, pairs, timestamp_ms, offset)
