"""The Python Data Source `kproxy-statelog`: a topic of the state log, in batches and as a stream, without any jar.

| option | means |
|---|---|
| `bootstrap.servers`, `topic` | what to read; required |
| `kafka.…` | further properties of the client |
| `ranges` | batch: `[[partition, first offset, end offset], …]` as JSON, each read by one task; default all there is |
| `startingOffsets` | stream: `{"partition": offset, …}` as JSON for those not to be read from their beginning |
| `maxRecordsPerTrigger` | stream: how many records a micro-batch has at most, over all partitions |
| `onGap` | stream: `fail` (the default) or `report` records that are gone before they were read |

It reads some 10^5 records in a second and core; for far more there is Spark's own Kafka source.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.kafka_log import KafkaTopic, LogTopic
from kproxy.jobs.log_reader import LogRange
from kproxy.jobs.raw_records import RAW_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader

FORMAT: Final = "kproxy-statelog"
_KAFKA_PREFIX: Final = "kafka."


class RangePartition(InputPartition):
    """What one task reads."""

    def __init__(self, part: LogRange) -> None:
        super().__init__((part.partition, part.first_offset, part.end_offset))

    @property
    def range(self) -> LogRange:
        """The offsets."""
        return LogRange(*self.value)


class StateLogSource(DataSource):
    """`spark.read.format("kproxy-statelog")`, once it is registered."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> StructType:
        """Return what every reader of the log yields."""
        return RAW_SCHEMA

    def reader(self, schema: StructType) -> "StateLogReader":  # noqa: ARG002 - Spark's signature
        """Return the reader of a batch."""
        return StateLogReader(topic_of(self.options), self.options.get("ranges"))

    def streamReader(self, schema: StructType) -> "DataSourceStreamReader":  # noqa: N802, ARG002 - Spark's
        """Return the reader of a stream."""
        from kproxy.jobs.stream_reader import StateLogStreamReader

        return StateLogStreamReader(topic_of(self.options), self.options)


class StateLogReader(DataSourceReader):
    """Reads ranges of offsets, each by one task and in order."""

    def __init__(self, topic: LogTopic, ranges_json: str | None) -> None:
        self._topic = topic
        self._ranges_json = ranges_json

    def partitions(self) -> Sequence[RangePartition]:
        """Return the ranges that are not empty."""
        return [RangePartition(part) for part in self._ranges() if part.length]

    def _ranges(self) -> Sequence[LogRange]:
        if self._ranges_json is not None:
            return [LogRange(*numbers) for numbers in json.loads(self._ranges_json)]
        with self._topic.consumer() as consumer:
            return consumer.ranges()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range."""
        assert isinstance(partition, RangePartition)
        return read_range(self._topic, partition.range)


def read_range(topic: LogTopic, part: LogRange) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range, on an executor. What goes wrong is told so that the driver understands it."""
    with told_to_driver(), topic.consumer() as consumer:
        yield from consumer.batches(part)


def topic_of(options: Mapping[str, str]) -> KafkaTopic:
    """Return the topic that the options of the source name. Raises JobFailed when they do not."""
    for required in ("bootstrap.servers", "topic"):
        if required not in options:
            raise JobFailed(f"{FORMAT} needs the option {required}", ExitCode.USAGE)
    properties = {
        name.removeprefix(_KAFKA_PREFIX): options[name] for name in options if name.startswith(_KAFKA_PREFIX)
    }
    return KafkaTopic(options["bootstrap.servers"], options["topic"], properties)
