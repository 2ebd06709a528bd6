"""The names of the topics that share groups consume, read from the records of the groups topic."""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from kproxy.clients.history.topic_names import names_of
from kproxy.jobs.sources.raw_records import records_of
from kproxy.jobs.sources.schemas import arrow_schema_of

NAMES_SCHEMA: Final = "topic_id string, topic_name string"
_ARROW_SCHEMA: Final = arrow_schema_of(NAMES_SCHEMA)


def topic_names_in(found: DataFrame) -> Mapping[str, str]:
    """Return topic names by the id in Kafka's text form. `found` is what `named` made of records."""
    return {row["topic_id"]: row["topic_name"] for row in found.collect()}


def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the names in records of the groups topic, as rows of NAMES_SCHEMA. Other records have none."""
    names: dict[str, str] = {}
    for batch in batches:
        for _, record in records_of(batch):
            names.update(names_of(record))
    yield pa.RecordBatch.from_arrays(
        [pa.array(list(names), pa.string()), pa.array(list(names.values()), pa.string())],
        schema=_ARROW_SCHEMA,
    )
