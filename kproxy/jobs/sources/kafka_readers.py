"""The log of a cluster as a `ClusterLog`: by Spark's own Kafka source, or by `kproxy-statelog`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import cached_property, partial, reduce
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kproxy.clients.log_ranges import LogRange, PartitionEnd
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.data_source import FORMAT, StateLogSource
from kproxy.jobs.sources.kafka_log import KafkaTopic
from kproxy.jobs.sources.log_reader import BatchFunction, OnGap
from kproxy.jobs.sources.packing import packed
from kproxy.jobs.sources.raw_records import RAW_SCHEMA
from kproxy.jobs.sources.spark_tasks import mapped_by_tasks, slots_of, unchanged
from kproxy.jobs.sources.task_partitions import read_ranges
from kproxy.jobs.sources.topic_names import NAMES_SCHEMA, named, topic_names_in

RAW_COLUMNS_OF_KAFKA: Final = (
    "partition AS log_partition",
    "offset AS log_offset",
    "unix_millis(timestamp) AS timestamp_ms",
    "key",
    "value",
    "headers",
)
"""The columns of Spark's Kafka source, as those of RAW_SCHEMA."""

_INTERNAL_TO_KAFKA: Final = frozenset({"__share_group_state"})
_FETCHING_AS_CONSUMER: Final = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
"""With it Spark's source asks for offsets as a consumer does; as an admin client it sees no internal topic."""

_WORTH_A_SOURCE: Final = 1_000_000
"""Offsets. For fewer the source in Python is not worth the three processes of Python that Spark starts to plan it."""

_CONNECTOR_CLASS: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


class _KafkaLog:
    """Common to both readers: the driver asks for offsets with kafka-python."""

    def __init__(self, spark: SparkSession, state: KafkaTopic, groups: KafkaTopic) -> None:
        self._spark = spark
        self._state = state
        self._groups = groups

    starts_at_offset_zero: Final = True

    @property
    def name(self) -> str:
        """The topic and its cluster, for error messages."""
        return f"topic {self._state.name} at {self._state.bootstrap_servers}"

    @cached_property
    def identity(self) -> str:
        """The ids of cluster and topic. They are asked for once."""
        with self._state.consumer() as consumer:
            return consumer.identity()

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds now."""
        with self._state.consumer() as consumer:
            return consumer.ranges()

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:
        """Return the first offsets written at this time or later."""
        with self._state.consumer() as consumer:
            return consumer.offsets_at(timestamp_ms)

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:
        """Return the records of `ranges`."""
        return self._rows(self._state, ranges, most_per_task)

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:
        """Return the records of `ranges`, mapped."""
        return self._mapped(self._state, ranges, function, schema)

    def topic_names(self) -> Mapping[str, str]:
        """Return the names in the groups topic; none when there is no such topic."""
        try:
            with self._groups.consumer() as consumer:
                ranges = [part for part in consumer.ranges() if part.length]
        except JobFailed as failure:
            if failure.exit_code is ExitCode.NOT_FOUND:
                return {}
            raise
        return topic_names_in(self._mapped(self._groups, ranges, named, NAMES_SCHEMA))

    def topic_ends(
        self, topics: Mapping[str, str], *, earlier_ms: int
    ) -> Mapping[tuple[str, int], PartitionEnd]:
        """Return where consumed topics end now, and ended at `earlier_ms`."""
        with self._state.consumer() as consumer:
            return consumer.topic_ends(topics, earlier_ms=earlier_ms)

    def _mapped(
        self, topic: KafkaTopic, ranges: Sequence[LogRange], function: BatchFunction, schema: str
    ) -> DataFrame:
        return self._rows(topic, ranges, None).mapInArrow(function, schema)

    def _rows(self, topic: KafkaTopic, ranges: Sequence[LogRange], most_per_task: int | None) -> DataFrame:
        raise NotImplementedError


class PythonLog(_KafkaLog):
    """Reads with `kproxy-statelog`; what is mapped at once, by the worker that maps it."""

    def _rows(self, topic: KafkaTopic, ranges: Sequence[LogRange], most_per_task: int | None) -> DataFrame:
        tasks = packed(ranges, slots=slots_of(self._spark), most_per_task=most_per_task)
        if sum(part.length for part in ranges) < _WORTH_A_SOURCE:
            read = partial(read_ranges, topic)
            return mapped_by_tasks(self._spark, tasks, read, unchanged, RAW_SCHEMA)
        self._spark.dataSource.register(StateLogSource)
        reader = self._spark.read.format(FORMAT).options(**source_options(topic))
        return reader.option("tasks", json.dumps([[astuple(part) for part in task] for task in tasks])).load()

    def _mapped(
        self, topic: KafkaTopic, ranges: Sequence[LogRange], function: BatchFunction, schema: str
    ) -> DataFrame:
        tasks = packed(ranges, slots=slots_of(self._spark))
        return mapped_by_tasks(self._spark, tasks, partial(read_ranges, topic), function, schema)

    def stream(self, *, most_per_batch: int | None, on_gap: OnGap) -> DataFrame:
        """Return the log as it grows."""
        self._spark.dataSource.register(StateLogSource)
        reader = (
            self._spark.readStream.format(FORMAT)
            .options(**source_options(self._state))
            .option("onGap", on_gap)
            .option("slots", slots_of(self._spark))
        )
        if most_per_batch is not None:
            reader = reader.option("maxRecordsPerTrigger", str(most_per_batch))
        return reader.load()


class JarLog(_KafkaLog):
    """Reads with Spark's own Kafka source.

    Offsets are always given: without them it reads nothing at all of a topic that Kafka calls internal, in silence.
    """

    def __init__(self, spark: SparkSession, state: KafkaTopic, groups: KafkaTopic) -> None:
        super().__init__(spark, state, groups)
        if state.name in _INTERNAL_TO_KAFKA:
            spark.conf.set(_FETCHING_AS_CONSUMER, "true")

    def _rows(self, topic: KafkaTopic, ranges: Sequence[LogRange], most_per_task: int | None) -> DataFrame:
        if not ranges:
            return self._spark.range(0).mapInArrow(unchanged, RAW_SCHEMA)
        if most_per_task is not None:
            return self._rows_of(topic, ranges, most_per_task)
        tasks = packed(ranges, slots=slots_of(self._spark))
        shared = [task for task in tasks if len(task) > 1]
        alone = [task[0] for task in tasks if len(task) == 1]
        frames = [self._rows_of(topic, alone, None)] if alone else []
        if shared:
            # `coalesce` combines ranges without a shuffle: each is still read whole and in order, one after the other.
            together = self._rows_of(topic, [part for task in shared for part in task], None)
            frames.append(together.coalesce(len(shared)))
        return reduce(DataFrame.unionByName, frames)

    def _rows_of(self, topic: KafkaTopic, ranges: Sequence[LogRange], most_per_task: int | None) -> DataFrame:
        ends = {part.partition: part.end_offset for part in ranges}
        reader = self._spark.read.format("kafka").options(**_kafka_options(topic, ranges))
        reader = reader.option("endingOffsets", _offsets(topic, ends)).option("failOnDataLoss", "true")
        if most_per_task is not None:
            reader = reader.option("maxRecordsPerPartition", str(most_per_task))
        return reader.load().selectExpr(*RAW_COLUMNS_OF_KAFKA)

    def stream(self, *, most_per_batch: int | None, on_gap: OnGap) -> DataFrame:
        """Return the log as it grows."""
        reader = self._spark.readStream.format("kafka").options(**_kafka_options(self._state, self.ranges()))
        reader = reader.option("failOnDataLoss", str(on_gap == "fail").lower())
        if most_per_batch is not None:
            reader = reader.option("maxOffsetsPerTrigger", str(most_per_batch))
        return reader.load().selectExpr(*RAW_COLUMNS_OF_KAFKA)


def _kafka_options(topic: KafkaTopic, ranges: Sequence[LogRange]) -> dict[str, str]:
    """Return the options with which Spark's Kafka source reads a topic from where `ranges` begin."""
    return {
        **{f"kafka.{name}": value for name, value in topic.properties.items()},
        "kafka.bootstrap.servers": topic.bootstrap_servers,
        "assign": json.dumps({topic.name: [part.partition for part in ranges]}),
        "startingOffsets": _offsets(topic, {part.partition: part.first_offset for part in ranges}),
        "includeHeaders": "true",
    }


def source_options(topic: KafkaTopic) -> dict[str, str]:
    """Return the options with which `kproxy-statelog` finds a topic."""
    properties = {f"kafka.{name}": value for name, value in topic.properties.items()}
    return {"bootstrap.servers": topic.bootstrap_servers, "topic": topic.name, **properties}


def jar_version(spark: SparkSession) -> str | None:
    """Return the version of Spark's Kafka source on the class path, None when there is none."""
    jvm: Any = spark._jvm  # noqa: SLF001 - only the driver's JVM has the class path of the driver
    try:
        loader = jvm.Thread.currentThread().getContextClassLoader()
        found = jvm.java.lang.Class.forName(_CONNECTOR_CLASS, False, loader)
    except Exception:  # noqa: BLE001 - py4j wraps ClassNotFoundException; a Spark Connect session has no JVM
        return None
    place = str(found.getProtectionDomain().getCodeSource().getLocation())
    return place.rpartition("_2.13-")[2].removesuffix(".jar")


def require_jar(spark: SparkSession) -> None:
    """Raise JobFailed, with what to add, unless Spark's Kafka source is there in the version of this Spark."""
    found = jar_version(spark)
    if found == spark.version:
        return
    trouble = (
        "is not on the class path"
        if found is None
        else f"is there as {found}, and this is Spark {spark.version}"
    )
    raise JobFailed(
        f"Spark's Kafka source {trouble}: start with "
        f"spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}, "
        "or read with --source python",
        ExitCode.USAGE,
    )


def _offsets(topic: KafkaTopic, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic.name: {str(number): offset for number, offset in offsets.items()}})
