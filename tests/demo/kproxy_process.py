"""kproxy as a user runs it, `kproxy run`, in a process of its own."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from tests.demo.failures import KproxyFailed
from tests.real_kafka import processes
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.ports import ReservedPort

START_TIMEOUT_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05
HTTP_TIMEOUT_SECONDS: Final = 2.0
STOP_GRACE_SECONDS: Final = 15.0
SHOWN_LOG_LINES: Final = 15
CODEC_SWITCH: Final = "KPROXY_CODEC"

READABLE_LOG: Final = "kproxy.log.format=text"
QUICK_GROUPS: Final = (
    "group.share.min.heartbeat.interval.ms=1000",
    "group.share.heartbeat.interval.ms=1000",
    "group.share.assignment.interval.ms=0",
)
"""Members learn of each other within a second, so that a short demo shows three of them from the start."""

ONE_REPLICA: Final = (
    "share.coordinator.state.topic.replication.factor=1",
    "share.coordinator.state.topic.min.isr=1",
)
"""What the one broker of the demo can hold."""

# The admin port is next door: a proxy named in the environment has no business between.
_opener: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class KproxyProcess:
    """A kproxy in front of a cluster whose only broker has the node id 1, on free ports of its own.

    Gone after `with`, however it is left, and when this Python process ends.
    """

    def __init__(self, name: str, upstream_bootstrap_servers: str, log: Path) -> None:
        """`name` is what the demo calls it."""
        self.name: Final = name
        self._ports = {name: ReservedPort() for name in ("bootstrap", "broker", "admin")}
        self._log = log
        self._command = self._command_line(upstream_bootstrap_servers)
        log.unlink(missing_ok=True)
        self._process = self._start()
        self._is_wanted = True

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` for clients."""
        return self._ports["bootstrap"].address

    @property
    def broker_address(self) -> str:
        """`HOST:PORT` of what clients take for the broker."""
        return self._ports["broker"].address

    @property
    def admin_url(self) -> str:
        """The admin port, without a slash at the end."""
        return f"http://{self._ports['admin'].address}"

    def wait_until_ready(self) -> None:
        """Return when it is ready and serves share groups; raises `KproxyFailed` if it does not in time."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not self._is_ready():
            self.check_it_runs()
            if time.monotonic() > deadline:
                raise self._failure(f"{self.name} was not ready after {START_TIMEOUT_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)
        share_groups = self._status()["shareGroups"]
        if not share_groups["enabled"]:
            raise self._failure(f"{self.name} keeps its share groups off: {share_groups['reason']}")

    def answers(self) -> bool:
        """Whether the process is up: its admin port answers, which is open before those for clients are."""
        try:
            self._get("/livez").close()
        except OSError:
            return False
        return True

    def check_it_runs(self) -> None:
        """Raise `KproxyFailed` with the end of its log if it has ended and nobody wanted that."""
        if (status := self._process.poll()) is not None and self._is_wanted:
            raise self._failure(f"{self.name} ended with status {status}")

    def slots(self) -> Mapping[int, str]:
        """Return the state of each slot of the state log, as it sees it; raises `OSError` if it does not say."""
        with contextlib.closing(self._get("/api/v1/state-log?scope=local")) as answer:
            return {slot["partition"]: slot["state"] for slot in json.load(answer)["items"]}

    def kill_and_start_again(self) -> None:
        """Kill it with SIGKILL, and start it at once with the same settings on the same ports."""
        self.kill()
        self.start_again()

    def kill(self) -> None:
        """Kill it with SIGKILL; returns when it is dead."""
        self._is_wanted = False
        processes.kill(self._process)

    def ask_to_end(self) -> None:
        """Send it SIGTERM, upon which it drains and ends; once, for a second one would cut that short."""
        if self._is_wanted:
            self._process.terminate()
        self._is_wanted = False

    def has_ended(self) -> bool:
        """Whether the process is no more."""
        return self._process.poll() is not None

    def start_again(self) -> None:
        """Start it with the same settings on the same ports, when it has ended or is dead."""
        self._process = self._start()
        self._is_wanted = True

    def stop(self) -> None:
        """Let it drain, after 15 s kill it. May be called again."""
        self.ask_to_end()
        processes.reap(self._process, grace_seconds=STOP_GRACE_SECONDS)
        for port in self._ports.values():
            port.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> subprocess.Popen[bytes]:
        # One log for all its lives.
        with self._log.open("ab") as output:
            return processes.spawn(
                self._command,
                stdout=output,
                stderr=output,
                folder=PROJECT_ROOT,
                environment=clean_environment(),
            )

    def _command_line(self, upstream_bootstrap_servers: str) -> list[str | Path]:
        # The port of broker 1 is one above the start.
        broker_port_start = self._ports["broker"].number - 1
        settings = [f"kproxy.admin.listener={self._ports['admin'].address}", READABLE_LOG, *QUICK_GROUPS]
        settings += ONE_REPLICA
        return [
            *(sys.executable, "-m", "kproxy", "run", "-b", upstream_bootstrap_servers),
            *("--listen", self.bootstrap_servers, "--broker-port-start", str(broker_port_start)),
            *(part for setting in settings for part in ("-X", setting)),
        ]

    def _is_ready(self) -> bool:
        try:
            self._get("/readyz").close()
        except OSError:
            return False
        return True

    def _status(self) -> Mapping[str, Any]:
        with contextlib.closing(self._get("/api/v1/status")) as answer:
            status: Mapping[str, Any] = json.load(answer)["items"][0]
        return status

    def _get(self, path: str) -> Any:
        return _opener.open(self.admin_url + path, timeout=HTTP_TIMEOUT_SECONDS)

    def _failure(self, problem: str) -> KproxyFailed:
        last_lines = self._log.read_text(errors="replace").splitlines()[-SHOWN_LOG_LINES:]
        return KproxyFailed("\n  ".join([f"{problem}:", *last_lines]))


def clean_environment() -> dict[str, str]:
    """The environment without the settings that somebody has for a kproxy of theirs."""
    return {
        name: value
        for name, value in os.environ.items()
        if name == CODEC_SWITCH or not name.startswith("KPROXY_")
    }
