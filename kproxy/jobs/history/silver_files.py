"""Silver rows that `export` wrote, as a `History`: one that outlives the topic."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.history.silver import ADDED_COLUMNS, SILVER_ARROW_SCHEMA, SILVER_SCHEMA, between
from kproxy.jobs.sources.log_files import FoundFiles
from kproxy.jobs.sources.parquet_log import open_parquet


class SilverFiles:
    """Exported history."""

    def __init__(self, spark: SparkSession, found: FoundFiles) -> None:
        self._spark = spark
        self._found = found

    @property
    def name(self) -> str:
        """The place of the files."""
        return f"exported history at {self._found.place}"

    def rows(self, *, since_ms: int | None = None, until_ms: int | None = None) -> DataFrame:
        """Return the rows. What files of earlier exports have no column for is null."""
        rows = self._spark.read.schema(SILVER_SCHEMA).parquet(*self._found.uris)
        return between(rows.select(*SILVER_ARROW_SCHEMA.names), since_ms, until_ms)

    def rows_for_lookup(self) -> DataFrame:
        """Return all rows."""
        return self.rows()

    def cached(self, rows: DataFrame) -> DataFrame:
        """Return `rows` as they are: reading Parquet again costs little."""
        return rows

    def with_lost_beginning(self, since_ms: int | None) -> Sequence[LogRange]:  # noqa: ARG002
        """Return none: what an export missed has rows that say so."""
        return []

    def topic_names(self) -> Mapping[str, str]:
        """Return none: the rows have ids only."""
        return {}


def is_silver(found: FoundFiles) -> bool:
    """Return whether Parquet files hold silver rows, by the columns of the first."""
    with open_parquet(found.paths[0]) as file:
        return set(SILVER_ARROW_SCHEMA.names) - ADDED_COLUMNS <= set(file.schema_arrow.names)
