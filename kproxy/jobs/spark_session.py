"""The Spark session of a job."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

from kproxy.jobs.failures import JobFailed, failure_of_spark
from kproxy.jobs.jvm_messages import start_jvm
from kproxy.jobs.progress import TaskCounts

LOOPBACK: Final = "127.0.0.1"
ROWS_PER_ARROW_BATCH: Final = 20_000
"""How many log records travel to a Python worker at once: a few MiB."""

_DEFAULTS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_ARROW_BATCH),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    # The jobs have a line of their own, which says more than the bars of Spark's stages.
    "spark.ui.showConsoleProgress": "false",
}
_SUBMITTED: Final = {"spark.log.level": "ERROR"}
"""Where `spark-submit` has started the JVM already, with a logging of its own."""
_LOGGING: Final = Path(__file__).absolute().with_name("log4j2.properties")
"""For a local session only: on a cluster this file may be inside an archive, where log4j cannot read it."""

_QUICK_START: Final = "-XX:TieredStopAtLevel=1"
"""C1 only: the work is done by Python workers, and compiling with C2 costs more than it saves."""

_SHUFFLE_PARTS: Final = "spark.sql.shuffle.partitions"
_FEWEST_SHUFFLE_PARTS: Final = 4
_MOST_SHUFFLE_PARTS: Final = 200
_OFFSETS_PER_SHUFFLE_PART: Final = 50_000

_LOCAL: Final = {
    _SHUFFLE_PARTS: str(_FEWEST_SHUFFLE_PARTS),
    "spark.driver.bindAddress": LOOPBACK,
    # Without it jars are served at an external address of the machine, which bindAddress does not listen on.
    "spark.driver.host": LOOPBACK,
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {_QUICK_START}",
}
"""What suits one machine."""


@contextmanager
def spark_session(name: str) -> Iterator[SparkSession]:
    """Give the session of a job: what `spark-submit` prepared, or a local one on all cores; stopped at the end.

    A session that is there already is used, and left alone. Raises JobFailed when Spark cannot start.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = SparkConf(loadDefaults=False).setAppName(f"kproxy {name}")
    settings.setAll([*_DEFAULTS.items(), *(_SUBMITTED if is_submitted else _LOCAL).items()])
    was_there = SparkSession.getActiveSession() is not None
    try:
        if not is_submitted:
            _require_jvm(settings)
        spark = SparkSession.builder.config(conf=settings).getOrCreate()
    except (PySparkRuntimeError, Py4JJavaError, OSError) as failure:
        raise JobFailed(
            f"Spark does not start: {_first_line(failure)}; it needs Java 17 or later (java -version)"
        ) from failure
    try:
        yield spark
    finally:
        if not was_there:
            spark.stop()


def _require_jvm(settings: SparkConf) -> None:
    """Have a JVM on this machine, with the context of a session in it."""
    # A machine whose name has no address, as in many containers, would keep Spark from starting.
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    if SparkContext._gateway is None:  # noqa: SLF001 - there is no public way to know
        SparkContext(conf=settings, gateway=start_jvm(settings))


def suit_shuffles(spark: SparkSession, offset_count: int) -> None:
    """Set spark.sql.shuffle.partitions by the number of offsets that are read, unless it is configured.

    Spark's default of 200 partitions dominates the run time of a small log, and those of
    persisted rows are not coalesced later.
    """
    if spark.sparkContext.getConf().contains(_SHUFFLE_PARTS):
        return
    parts = min(_MOST_SHUFFLE_PARTS, max(_FEWEST_SHUFFLE_PARTS, offset_count // _OFFSETS_PER_SHUFFLE_PART))
    spark.conf.set(_SHUFFLE_PARTS, parts)


def task_counts(spark: SparkSession) -> TaskCounts | None:
    """Return how far Spark is with what it computes now; None when it computes nothing, or does not say."""
    try:
        tracker = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    except (PySparkException, Py4JError, OSError):
        return None
    known = [stage for stage in stages if stage is not None]
    if not known:
        return None
    return TaskCounts(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))


@contextmanager
def spark_failures() -> Iterator[None]:
    """Turn what Spark raises within the block into JobFailed: one line, in the words of the task that failed."""
    try:
        yield
    except (PySparkException, Py4JError) as failure:
        raise failure_of_spark(str(failure)) from failure


def _first_line(failure: BaseException) -> str:
    return (str(failure).splitlines() or [type(failure).__name__])[0]
