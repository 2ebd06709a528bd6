"""Silver rows that `export` wrote, as a source of the analyses: history that outlives the topic."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from pyspark.sql import DataFrame, SparkSession

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.silver import ADDED_COLUMNS, SILVER_ARROW_SCHEMA, SILVER_SCHEMA
from kproxy.jobs.sources.log_files import FoundFiles
from kproxy.jobs.sources.log_reader import BatchFunction, LogRange
from kproxy.jobs.sources.parquet_log import open_parquet


class SilverFiles:
    """Exported history. There are no log records in it: only jobs that read silver rows can use it."""

    def __init__(self, spark: SparkSession, found: FoundFiles) -> None:
        self._spark = spark
        self._found = found

    @property
    def name(self) -> str:
        """What is read, in words for people."""
        return f"exported history at {self._found.place}"

    @property
    def identity(self) -> str:
        """The files, with sizes and times."""
        return self._found.stamp

    def rows(self) -> DataFrame:
        """Return rows of SILVER_SCHEMA. What files of earlier exports have no column for is null."""
        return (
            self._spark.read.schema(SILVER_SCHEMA)
            .parquet(*self._found.uris)
            .select(*SILVER_ARROW_SCHEMA.names)
        )

    def ranges(self) -> Sequence[LogRange]:
        """Raise JobFailed."""
        self._refuse()

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:  # noqa: ARG002
        """Raise JobFailed."""
        self._refuse()

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:  # noqa: ARG002
        """Raise JobFailed."""
        self._refuse()

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:  # noqa: ARG002
        """Raise JobFailed."""
        self._refuse()

    def topic_names(self) -> Mapping[str, str]:
        """Return none."""
        return {}

    def _refuse(self) -> NoReturn:
        raise JobFailed(
            f"{self._found.place} holds exported history, and this job needs the records themselves: "
            "kproxy replay export --records, or the topic",
            ExitCode.USAGE,
        )


def is_silver(found: FoundFiles) -> bool:
    """Return whether Parquet files hold silver rows, by the columns of the first."""
    with open_parquet(found.paths[0]) as file:
        return set(SILVER_ARROW_SCHEMA.names) - ADDED_COLUMNS <= set(file.schema_arrow.names)
