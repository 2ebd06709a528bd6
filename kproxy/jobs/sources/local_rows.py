"""Rows of the driver as DataFrames. Given a list instead, Spark would start Python workers to convert it."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def local_frame(spark: SparkSession, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> DataFrame:
    """Return rows as a DataFrame with the columns of `schema`; what a row does not have is null."""
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=schema))
