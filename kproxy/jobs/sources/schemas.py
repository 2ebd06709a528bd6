"""Schemas of rows, written once as Spark's DDL and read as pyarrow's too."""

import re
from typing import Final

import pyarrow as pa

_SIMPLE_TYPES: Final = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64()}
_ARRAY: Final = re.compile(r"array<(.+)>")
_STRUCT: Final = re.compile(r"struct<(.+)>")
_COMMA_BETWEEN_COLUMNS: Final = re.compile(r",(?![^<]*>)")
"""One that is not within `struct<…>`."""


def arrow_schema_of(ddl: str) -> pa.Schema:
    """Return the schema of DDL such as `group string, offsets array<struct<first: bigint, last: bigint>>`.

    Types are string, int and bigint, structs of them, and arrays of either. Raises KeyError for another type.
    """
    columns = (column.split(maxsplit=1) for column in _COMMA_BETWEEN_COLUMNS.split(ddl))
    return pa.schema([(name, _type_of(kind.strip())) for name, kind in columns])


def _type_of(kind: str) -> pa.DataType:
    if array := _ARRAY.fullmatch(kind):
        return pa.list_(_type_of(array[1]))
    if struct := _STRUCT.fullmatch(kind):
        fields = (field.split(":") for field in struct[1].split(","))
        return pa.struct([(name.strip(), _type_of(inner.strip())) for name, inner in fields])
    return _SIMPLE_TYPES[kind]
