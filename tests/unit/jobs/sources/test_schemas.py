import pyarrow as pa
import pytest

from kproxy.jobs.sources.schemas import arrow_schema_of


def test_columns_of_ddl_are_columns_of_arrow_in_order() -> None:
    # When
    schema = arrow_schema_of("""
        group string, partition int,
        log_offset bigint
    """)

    # Then
    assert schema == pa.schema(
        [("group", pa.string()), ("partition", pa.int32()), ("log_offset", pa.int64())]
    )


def test_an_array_of_structs_is_one_column() -> None:
    # When
    schema = arrow_schema_of("batches array<struct<firstOffset: bigint, deliveryCount: int>>, kind string")

    # Then
    batch = pa.struct([("firstOffset", pa.int64()), ("deliveryCount", pa.int32())])
    assert schema == pa.schema([("batches", pa.list_(batch)), ("kind", pa.string())])


def test_an_unknown_type_is_an_error() -> None:
    # When
    with pytest.raises(KeyError, match="double"):
        arrow_schema_of("lag double")
