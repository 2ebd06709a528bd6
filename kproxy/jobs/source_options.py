"""What a job reads, by its options: a log in a cluster, by one of two readers, or files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyspark
from pyspark.sql import SparkSession

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.job import JobSource
from kproxy.jobs.sources.kafka_log import KafkaTopic

_OLDEST_FOR_PYTHON: Final = (4, 2)
"""The first Spark whose Python data sources can limit what a micro-batch reads."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the options of the command line say of the source."""

    bootstrap_servers: str | None
    files: str | None
    state_topic: str
    groups_topic: str
    properties: Mapping[str, str]
    way: str
    """`jar`, `python`, or `auto`: the jar if it is there."""
    form: str = "kafka"
    """The form of the records in files: Kafka's, or an `EarlyForm`."""

    @staticmethod
    def of(options: Mapping[str, object]) -> "SourceOptions":
        """Return what the command line says. Raises JobFailed unless it names one source."""
        servers, files = options["bootstrap_server"], options["files"]
        if (servers is None) == (files is None):
            raise JobFailed("where is the log? give either -b HOST:PORT or --files PATH", ExitCode.USAGE)
        assignments = options["kafka_option"]
        assert isinstance(assignments, tuple)
        return SourceOptions(
            None if servers is None else str(servers),
            None if files is None else str(files),
            str(options["state_topic"]),
            str(options["groups_topic"]),
            dict(map(_property, assignments)),
            str(options["source"]),
            str(options["form"]),
        )

    def topic(self, name: str) -> KafkaTopic:
        """Return a topic of the cluster."""
        assert self.bootstrap_servers is not None
        return KafkaTopic(self.bootstrap_servers, name, self.properties)


def open_source(spark: SparkSession, options: SourceOptions) -> JobSource:
    """Return what the job reads. Raises JobFailed when it cannot be read."""
    if options.form != "kafka":
        return open_early_files(spark, options)
    if options.files is not None:
        return open_files(spark, options.files, options.groups_topic)
    from kproxy.jobs.sources.kafka_readers import JarLog, PythonLog, require_jar

    state, groups = options.topic(options.state_topic), options.topic(options.groups_topic)
    if options.way == "jar" or (options.way == "auto" and has_jar(spark)):
        require_jar(spark)
        return JobSource.of_cluster(spark, JarLog(spark, state, groups))
    require_python_source()
    return JobSource.of_cluster(spark, PythonLog(spark, state, groups))


def open_files(spark: SparkSession, place: str, groups_topic: str) -> JobSource:
    """Return the log, or the exported history, in the files at a path or URI. Raises JobFailed for other files."""
    from kproxy.jobs.history.silver_files import SilverFiles, is_silver
    from kproxy.jobs.sources.dump_log import dump_log
    from kproxy.jobs.sources.log_files import find_files
    from kproxy.jobs.sources.parquet_log import parquet_log

    found = find_files(place)
    if found.is_parquet and is_silver(found):
        return JobSource(SilverFiles(spark, found))
    if found.is_parquet:
        return JobSource.of_log(spark, parquet_log(spark, found))
    if found.are_lines:
        return JobSource.of_log(spark, dump_log(spark, found, groups_topic))
    raise JobFailed(
        f"{place} holds other files than Parquet of kproxy replay export (.parquet), or JSON lines of "
        "kproxy log dump (.jsonl)",
        ExitCode.USAGE,
    )


def open_early_files(spark: SparkSession, options: SourceOptions) -> JobSource:
    """Return the log in files of an earlier record form. Raises JobFailed when there are none."""
    from kproxy.jobs.sources.early_log import early_log
    from kproxy.jobs.sources.early_records import EARLY_FORMS
    from kproxy.jobs.sources.log_files import find_files

    if options.files is None:
        raise JobFailed(f"--format {options.form} is for files: give --files PATH", ExitCode.USAGE)
    form = EARLY_FORMS[options.form]
    return JobSource.of_log(spark, early_log(spark, find_files(options.files), form))


def has_jar(spark: SparkSession) -> bool:
    """Return whether Spark's own Kafka source is on the class path of the driver."""
    from kproxy.jobs.sources.kafka_readers import jar_version

    return jar_version(spark) is not None


def require_python_source(version: str = pyspark.__version__) -> None:
    """Raise JobFailed when this Spark is too old for the source in Python."""
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_FOR_PYTHON:
        raise JobFailed(
            f"kproxy's source in Python needs Spark 4.2 or later, and this is {version}: add Spark's own with "
            f"--packages org.apache.spark:spark-sql-kafka-0-10_2.13:{version}",
            ExitCode.USAGE,
        )


def _property(assignment: str) -> tuple[str, str]:
    name, separator, value = assignment.partition("=")
    if not separator or not name:
        raise JobFailed(f"-K {assignment!r}: expected KEY=VALUE", ExitCode.USAGE)
    return name, value
