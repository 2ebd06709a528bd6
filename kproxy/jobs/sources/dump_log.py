"""JSON lines of `kproxy log dump` as a `LogReader`."""

from typing import Final

from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StringType, StructField, StructType

from kproxy.jobs.sources.dump_lines import rows_of_lines
from kproxy.jobs.sources.log_files import FoundFiles
from kproxy.jobs.sources.log_rows import RowLog
from kproxy.jobs.sources.raw_records import RAW_SCHEMA

_DUMP_SCHEMA: Final = StructType([StructField("topic", StringType()), *RAW_SCHEMA.fields])


def dump_log(spark: SparkSession, found: FoundFiles, groups_topic: str) -> RowLog:
    """Return the log in lines, which are decoded once. A dump may hold its partitions in any order.

    Lines of the groups topic may be in the same files or in files of their own: they name the consumed topics.
    """
    lines = spark.read.text(found.uris)
    rows = lines.mapInArrow(rows_of_lines, _DUMP_SCHEMA).persist(StorageLevel.DISK_ONLY)
    state_records = rows.where(sql.col("topic") != groups_topic).drop("topic")
    group_records = rows.where(sql.col("topic") == groups_topic).drop("topic")
    return RowLog(found, lambda: state_records, group_records=group_records)
