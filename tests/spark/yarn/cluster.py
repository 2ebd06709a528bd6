"""A resource manager and a node manager, each a process of its own; the containers of a node are processes of its."""

import json
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.real_kafka import prerequisites, processes
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.ports import LOOPBACK, ReservedPort
from tests.spark.fetching import fetch_jars, fetched
from tests.spark.spark_4_0.environment import Spark40
from tests.spark.standalone import clean_environment

_START_TIMEOUT_S: Final = 180.0
_POLL_S: Final = 0.5
_STOP_GRACE_S: Final = 20.0
_FOLDER: Final = PROJECT_ROOT / "build" / "yarn-3.4.1"
_POM: Final = Path(__file__).with_name("pom.xml")
_SERVERS: Final = "org.apache.hadoop.yarn.server"
_METRICS: Final = "Hadoop:service=ResourceManager,name=ClusterMetrics"
_ADDRESSES: Final = (
    "yarn.resourcemanager.address",
    "yarn.resourcemanager.scheduler.address",
    "yarn.resourcemanager.resource-tracker.address",
    "yarn.resourcemanager.admin.address",
    "yarn.resourcemanager.webapp.address",
    "yarn.nodemanager.address",
    "yarn.nodemanager.localizer.address",
    "yarn.nodemanager.webapp.address",
)
_SETTINGS: Final = {
    "yarn.resourcemanager.hostname": LOOPBACK,
    "yarn.nodemanager.hostname": LOOPBACK,
    "yarn.resourcemanager.scheduler.class": f"{_SERVERS}.resourcemanager.scheduler.fifo.FifoScheduler",
    # What is asked for in yarn.sh is for real nodes; nobody uses all of it here.
    "yarn.nodemanager.resource.memory-mb": "65536",
    "yarn.nodemanager.resource.cpu-vcores": "64",
    "yarn.scheduler.maximum-allocation-mb": "32768",
    "yarn.scheduler.maximum-allocation-vcores": "16",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
}


class YarnCluster:
    """YARN with one node, started by `with` and gone after it. Its file system is that of this machine."""

    def __init__(self, spark: Spark40, folder: Path) -> None:
        """Describe a cluster whose settings, logs and containers stand in `folder`; nothing is started."""
        self._spark = spark
        self._folder = folder
        self._ports = {name: ReservedPort() for name in _ADDRESSES}
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which `spark-submit` finds the cluster."""
        clean = clean_environment(self._spark)
        return clean | {
            "HADOOP_CONF_DIR": str(self._folder / "conf"),
            "SPARK_CONF_DIR": str(self._folder / "conf"),
            "PATH": f"{self._spark.home / 'bin'}:{clean['PATH']}",
        }

    def __enter__(self) -> Self:
        fetched(_FOLDER, [_POM], "YARN (50 MB)", lambda: fetch_jars(_POM, _FOLDER / "jars"))
        self._write_settings()
        try:
            self._start("resourcemanager", "ResourceManager")
            self._start("nodemanager", "NodeManager")
            self._wait_for_node()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        _error_class: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _write_settings(self) -> None:
        conf = self._folder / "conf"
        conf.mkdir()
        folders = {
            "yarn.nodemanager.local-dirs": str(self._folder / "local"),
            "yarn.nodemanager.log-dirs": str(self._folder / "logs"),
        }
        addresses = {name: port.address for name, port in self._ports.items()}
        (conf / "yarn-site.xml").write_text(_xml(_SETTINGS | folders | addresses))
        core = {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(self._folder / "tmp")}
        (conf / "core-site.xml").write_text(_xml(core))
        # Else every job would pack up Spark once more, and cut little data into many parts.
        jars = f"spark.yarn.jars local:{self._spark.home}/jars/*"
        (conf / "spark-defaults.conf").write_text(f"{jars}\nspark.sql.shuffle.partitions 4\n")

    def _start(self, package: str, server: str) -> None:
        path = (self._folder / "conf", _FOLDER / "jars" / "*", self._spark.home / "jars" / "*")
        options = ("-Xmx256m", "--add-opens=java.base/java.lang=ALL-UNNAMED")
        command = (
            prerequisites.java().executable,
            *options,
            "-cp",
            ":".join(map(str, path)),
            f"{_SERVERS}.{package}.{server}",
        )
        with (self._folder / f"{package}.log").open("wb") as log:
            self._processes.append(
                processes.spawn(
                    [str(part) for part in command],
                    stdout=log,
                    stderr=log,
                    folder=self._folder,
                    environment=clean_environment(self._spark),
                )
            )

    def _wait_for_node(self) -> None:
        give_up_at = time.monotonic() + _START_TIMEOUT_S
        while not self._has_node():
            if time.monotonic() > give_up_at or any(each.poll() is not None for each in self._processes):
                logs = "\n".join(log.read_text() for log in self._folder.glob("*.log"))
                raise RuntimeError(f"YARN does not start\n{logs[-4000:]}")
            time.sleep(_POLL_S)

    def _has_node(self) -> bool:
        page = self._ports["yarn.resourcemanager.webapp.address"].address
        try:
            with urllib.request.urlopen(f"http://{page}/jmx?qry={_METRICS}", timeout=10) as answer:
                return any(bean.get("NumActiveNMs") for bean in json.load(answer)["beans"])
        except OSError:
            return False

    def _stop(self) -> None:
        for process in reversed(self._processes):
            processes.end(process, grace_seconds=_STOP_GRACE_S)
        self._processes.clear()
        for port in self._ports.values():
            port.release()


def packed_environment(spark: Spark40, archive: Path) -> Path:
    """Write what the documents have venv-pack make: the Python of `spark` with kproxy, and without PySpark."""
    root = spark.python.parents[1]

    def without_pyspark(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if "/site-packages/pyspark" in f"/{entry.name}" else entry

    (packages,) = root.glob("lib/python*/site-packages")
    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        file.add(root, ".", filter=without_pyspark)
        file.add(PROJECT_ROOT / "kproxy", packages.relative_to(root) / "kproxy")
    return archive


def _xml(settings: Mapping[str, str]) -> str:
    properties = (
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    return f"<configuration>{''.join(properties)}</configuration>"
