"""How long a start takes: `python -m tests.benchmarks.start_time DIST/kproxy_share_groups-….whl`.

The wheel is installed into an empty environment, as the image does it, and its `kproxy run` is started again and again
in front of a real Kafka: from the moment the command is executed until `/livez` and `/readyz` answer 200. Warm is with
all files in the page cache; cold is with those of the environment and of Python taken out of it. No container engine
takes part.
"""

import argparse
import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from tests.benchmarks.process_accounting import cpu_seconds, resident_bytes
from tests.benchmarks.share_setting import HEAP, STATE_TOPIC_SETTINGS
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import HTTP_OK, KproxyPorts
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.ports import LOOPBACK

LOOK_SECONDS: Final = 0.002
READY_SECONDS: Final = 60.0
END_SECONDS: Final = 20.0
PAUSE_SECONDS: Final = 1.0
"""Between two starts: the one before has left its fleet, and the broker has noticed."""


@dataclass(frozen=True, slots=True)
class Started:
    """One start: seconds from the command to the answer; what the process had used when it was ready."""

    live_s: float
    ready_s: float
    cpu_s: float
    resident_bytes: int
    read_bytes: int

    def __str__(self) -> str:
        return (
            f"live {self.live_s:.2f} s, ready {self.ready_s:.2f} s, CPU {self.cpu_s:.2f} s, "
            f"memory {self.resident_bytes / 2**20:.0f} MiB, read from disks {self.read_bytes / 1e6:.0f} MB"
        )


def main(arguments: Sequence[str]) -> int:
    """Install, start as often as asked, and print a line for each kind of start."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.start_time")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="kproxy-start-") as folder,
        KafkaCluster(heap=HEAP, jvm_options=()) as cluster,
    ):
        environment = Path(folder)
        _install(options.wheel, environment)
        program = environment / "bin" / "kproxy"
        print(f"first, creating its topics: {_start(program, cluster.bootstrap_servers)}", flush=True)
        warm, cold = [], []
        for _ in range(options.rounds):
            warm.append(_start(program, cluster.bootstrap_servers))
            _forget_files(environment, Path(sys.base_prefix) / "lib", Path(sys.base_prefix) / "bin")
            cold.append(_start(program, cluster.bootstrap_servers))
        for name, starts in {"warm": warm, "cold": cold}.items():
            _tell(name, starts)
    return 0


def _install(wheel: Path, environment: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = f"{environment}/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all:".split()
    subprocess.run([*pip, "--constraint", str(PROJECT_ROOT / "constraints.txt"), str(wheel)], check=True)


def _start(program: Path, bootstrap_servers: str) -> Started:
    """Start it, and end it in order once it is ready."""
    with KproxyPorts() as ports, _running(program, bootstrap_servers, ports) as (process, began_s):
        live_s = _until(ports, "/livez", process, began_s)
        ready_s = _until(ports, "/readyz", process, began_s)
        started = Started(
            live_s,
            ready_s,
            cpu_seconds(process.pid),
            resident_bytes(process.pid),
            _read_bytes(process.pid),
        )
    time.sleep(PAUSE_SECONDS)
    return started


@contextmanager
def _running(
    program: Path, bootstrap_servers: str, ports: KproxyPorts
) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    settings: Mapping[str, str | int] = {
        "kproxy.listen": ports.listen.address,
        "kproxy.admin.listener": ports.admin.address,
        "kproxy.broker.port.map": ",".join(
            f"{node}={port.number}" for node, port in ports.of_brokers.items()
        ),
        **STATE_TOPIC_SETTINGS,
    }
    overrides = [part for key, value in settings.items() for part in ("-X", f"{key}={value}")]
    variables = {key: value for key, value in os.environ.items() if not key.startswith("KPROXY_")}
    began_s = time.monotonic()
    process = subprocess.Popen(
        [program, "run", "-b", bootstrap_servers, *overrides],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # As the image has it.
        env={**variables, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process, began_s
    finally:
        process.terminate()
        process.wait(END_SECONDS)


def _until(ports: KproxyPorts, path: str, process: subprocess.Popen[bytes], began_s: float) -> float:
    while not _is_ok(ports.admin.number, path):
        if process.poll() is not None or time.monotonic() > began_s + READY_SECONDS:
            raise RuntimeError(f"{path} did not answer {HTTP_OK}: exit status {process.poll()}")
        time.sleep(LOOK_SECONDS)
    return time.monotonic() - began_s


def _is_ok(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5.0)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == HTTP_OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _read_bytes(process_id: int) -> int:
    """What the process had to wait for from disks."""
    lines = Path(f"/proc/{process_id}/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def _forget_files(*folders: Path) -> None:
    """Ask the kernel to drop the files of these folders from the page cache; what others have mapped stays."""
    os.sync()
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(descriptor)


def _tell(name: str, starts: Sequence[Started]) -> None:
    middle = Started(
        median(each.live_s for each in starts),
        median(each.ready_s for each in starts),
        median(each.cpu_s for each in starts),
        int(median(each.resident_bytes for each in starts)),
        int(median(each.read_bytes for each in starts)),
    )
    ready = sorted(each.ready_s for each in starts)
    print(
        f"{name}, median of {len(starts)}: {middle}; ready from {ready[0]:.2f} to {ready[-1]:.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
