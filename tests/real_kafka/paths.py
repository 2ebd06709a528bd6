"""Where the harness keeps what it fetches and writes: all of it below the ignored folder `build/`."""

import os
from pathlib import Path
from typing import Final

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
HARNESS_FOLDER: Final = Path(__file__).resolve().parent
LOGGING_FOLDER: Final = HARNESS_FOLDER / "logging"
CACHE_VARIABLE: Final = "KPROXY_KAFKA_CACHE"


def cache_folder() -> Path:
    """The folder of Kafka's jars, one folder a version; `KPROXY_KAFKA_CACHE` puts it elsewhere."""
    return Path(os.environ.get(CACHE_VARIABLE) or PROJECT_ROOT / "build" / "kafka").resolve()


def runs_folder() -> Path:
    """The folder of running clusters: data, settings and logs, one folder a cluster, gone when it stops."""
    return PROJECT_ROOT / "build" / "kafka-runs"


def kept_logs_folder() -> Path:
    """The folder that the logs of failed clusters are moved to."""
    return PROJECT_ROOT / "build" / "kafka-logs"
