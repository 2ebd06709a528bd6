"""The Parquet files of an export: in folders by time, written by the executors, and read again for the result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pyarrow import fs
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.silver import SILVER_SCHEMA
from kproxy.jobs.result_writer import write_parquet
from kproxy.jobs.sources.log_files import filesystem_of, pattern_of

BY_TIME: Final = ("dt", "hour")
"""The columns that folders are named after, outermost first."""
_SCHEMA: Final = f"{SILVER_SCHEMA}, dt date, hour int, batch bigint"
"""Given when an export is read: one without rows has no file that could say so."""


def write_new(frame: DataFrame, to: str, *, by: Sequence[str] = ()) -> int:
    """Have the executors write `frame` to a place where nothing is yet; return the row count.

    All of it stands there in the end, or nothing: on a file system by a move, elsewhere by Spark's own commit. Raises
    JobFailed.
    """
    system, folder = filesystem_of(to)
    if system.get_file_info(folder).type is not fs.FileType.NotFound:
        raise JobFailed(f"{to} is there already; give another --to", ExitCode.USAGE)
    if isinstance(system, fs.LocalFileSystem):
        return write_parquet(frame, Path(folder), by=by)
    counted = Observation()
    frame.observe(counted, sql.count(sql.lit(1)).alias("rows")).write.partitionBy(*by).parquet(to)
    return int(counted.get["rows"])


def by_time(rows: DataFrame) -> DataFrame:
    """Return silver rows with the columns that their folders are named after: date and hour of the log, in UTC."""
    moment = sql.timestamp_millis("log_ts_ms")
    return rows.withColumn("dt", sql.date_format(moment, "yyyy-MM-dd")).withColumn("hour", sql.hour(moment))


def written_at(spark: SparkSession, to: str) -> DataFrame:
    """Return the rows that stand in the folders at `to`, which may be none."""
    return spark.read.schema(_SCHEMA).parquet(pattern_of(to))


def rows_by_time(rows: DataFrame) -> DataFrame:
    """Return how many rows there are of each date and hour."""
    return rows.groupBy(*BY_TIME).agg(sql.count("*").alias("rows")).orderBy(*BY_TIME)
