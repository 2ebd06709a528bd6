"""The setting of the replay benchmark: two Sparks, a broker, and a folder for logs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.benchmarks.replaying_spark import ReplayingSpark, newest_spark, spark_with_jar
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.paths import PROJECT_ROOT
from tests.spark.spark_4_0.environment import spark_4_0

HEAP: Final = "1g"


@dataclass(frozen=True, slots=True)
class ReplaySetting:
    """What runs, and where logs go."""

    newest: ReplayingSpark
    """The Spark that kproxy is installed with."""
    with_jar: ReplayingSpark
    """Spark 4.0.0, the only one whose own Kafka source can be had whole."""
    broker_address: str
    broker_process_ids: Sequence[int]
    folder: Path
    """Files of the logs. It goes with the setting."""


@contextmanager
def replay_setting() -> Iterator[ReplaySetting]:
    """Start both Sparks and the broker; everything is gone when the `with` ends."""
    old_spark = spark_4_0()
    place = PROJECT_ROOT / "build"
    with ExitStack() as running:
        folder = Path(running.enter_context(TemporaryDirectory(prefix="replayed-logs-", dir=place)))
        # As the JVM runs by default, not as tests start it: both compilers, its own choice of collector.
        kafka = running.enter_context(KafkaCluster(heap=HEAP, jvm_options=()))
        newest = running.enter_context(newest_spark(folder))
        with_jar = running.enter_context(spark_with_jar(old_spark, folder))
        yield ReplaySetting(newest, with_jar, kafka.bootstrap_servers, kafka.process_ids, folder)
