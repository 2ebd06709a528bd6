"""The Python Data Source `kproxy-statelog`: a topic of the state log, in batches and as a stream, without any jar.

| option | means |
|---|---|
| `bootstrap.servers`, `topic` | what to read; required |
| `kafka.…` | further properties of the client |
| `tasks` | batch: `[[[partition, first offset, end offset], …], …]` as JSON, ranges by task; default all there is |
| `startingOffsets` | stream: `{"partition": offset, …}` as JSON for those not to be read from their beginning |
| `maxRecordsPerTrigger` | stream: how many records a micro-batch has at most, over all partitions |
| `onGap` | stream: `fail` (the default) or `report`, for records that were deleted before they were read |
| `slots` | how many tasks run at once, where these are not given; default the cores of the driver's machine |

It reads some 10^5 records in a second and core; for far more there is Spark's own Kafka source.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.kafka_log import KafkaTopic, LogTopic
from kproxy.jobs.sources.packing import packed
from kproxy.jobs.sources.raw_records import RAW_SCHEMA
from kproxy.jobs.sources.task_partitions import TaskPartition, read_ranges, slots_in

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader

FORMAT: Final = "kproxy-statelog"
_KAFKA_PREFIX: Final = "kafka."


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
        return StateLogReader(topic_of(self.options), self.options)

    def streamReader(self, schema: StructType) -> "DataSourceStreamReader":  # noqa: N802, ARG002 - Spark's
        """Return the reader of a stream."""
        from kproxy.jobs.sources.stream_reader import StateLogStreamReader

        return StateLogStreamReader(topic_of(self.options), self.options)


class StateLogReader(DataSourceReader):
    """Reads ranges of offsets, each whole in one task, one after the other and in order."""

    def __init__(self, topic: LogTopic, options: Mapping[str, str]) -> None:
        self._topic = topic
        self._options = options

    def partitions(self) -> Sequence[TaskPartition]:
        """Return what each task reads."""
        return [TaskPartition(task) for task in self._tasks() or [[]]]

    def _tasks(self) -> Sequence[Sequence[LogRange]]:
        if "tasks" in self._options:
            return [[LogRange(*numbers) for numbers in task] for task in json.loads(self._options["tasks"])]
        with self._topic.consumer() as consumer:
            return packed(consumer.ranges(), slots=slots_in(self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records that a task reads."""
        assert isinstance(partition, TaskPartition)
        return read_ranges(self._topic, partition.ranges)


def topic_of(options: Mapping[str, str]) -> KafkaTopic:
    """Return the topic that the options of the source name. Raises JobFailed when they do not."""
    for required in ("bootstrap.servers", "topic"):
        if required not in options:
            raise JobFailed(f"{FORMAT} needs the option {required}", ExitCode.USAGE)
    properties = {
        name.removeprefix(_KAFKA_PREFIX): options[name] for name in options if name.startswith(_KAFKA_PREFIX)
    }
    return KafkaTopic(options["bootstrap.servers"], options["topic"], properties)
