"""haproxy as a child process: the relay that many would put in front of Kafka, and the measure of one."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.real_kafka.child import Child, ChildEnded, ChildTimedOut
from tests.real_kafka.ports import ReservedPort
from tests.real_kafka.prerequisites import MissingPrerequisite

PACKAGE: Final = "haproxy"
SYSTEM_PATH: Final = "/usr/sbin:/sbin"
BUFFER_BYTES: Final = 256 * 1024
MAX_CONNECTIONS: Final = 4_000
READY_TIMEOUT_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.02

CONFIGURATION: Final = """\
global
    nbthread 1
    maxconn {max_connections}
    tune.bufsize {buffer_bytes}
    noreuseport
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
listen kafka
    bind {listen}{client_tls}
    server broker {target}{broker_tls}
"""
"""One thread, as kproxy has one; buffers of what kproxy's event loop reads at once. TCP only: it knows no Kafka."""


def haproxy_program() -> Path:
    """Where haproxy is; raises `MissingPrerequisite` with the package that brings it."""
    found = shutil.which("haproxy") or shutil.which("haproxy", path=SYSTEM_PATH)
    if found is None:
        advice = f"install it, on Debian and Ubuntu with: apt-get install {PACKAGE}"
        raise MissingPrerequisite(f"haproxy is not installed: {advice}")
    return Path(found)


class HaproxyProcess(Child):
    """A haproxy from the port `listen` to `target` (`HOST:PORT`): started by the constructor, gone after `stop`."""

    def __init__(
        self, listen: ReservedPort, target: str, *, client_tls: str = "", broker_tls: str = ""
    ) -> None:
        """`client_tls` and `broker_tls` are words of haproxy's configuration for either side."""
        self._listen = listen
        self._folder = tempfile.TemporaryDirectory(prefix="kproxy-bench-")
        configuration = Path(self._folder.name) / "haproxy.cfg"
        configuration.write_text(
            CONFIGURATION.format(
                listen=listen.address,
                target=target,
                client_tls=f" {client_tls}" if client_tls else "",
                broker_tls=f" {broker_tls}" if broker_tls else "",
                buffer_bytes=BUFFER_BYTES,
                max_connections=MAX_CONNECTIONS,
            )
        )
        super().__init__("haproxy", [haproxy_program(), "-db", "-f", configuration])

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of its only port."""
        return self._listen.address

    def wait_until_ready(self) -> None:
        """Return when its port accepts; raises `ChildEnded` and `ChildTimedOut`."""
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        while not self._listen.accepts_connections():
            if not self.is_running:
                raise ChildEnded(f"haproxy ended at its start: {self.errors()}")
            if time.monotonic() > deadline:
                raise ChildTimedOut(
                    f"haproxy was not ready in {READY_TIMEOUT_SECONDS:.0f} s: {self.errors()}"
                )
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End it, and remove its configuration. May be called again."""
        super().stop()
        self._folder.cleanup()
