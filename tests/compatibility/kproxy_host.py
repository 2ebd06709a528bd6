"""kproxy on a host of its own: clients reach it on one side, it reaches the brokers on the other."""

import http.client
import json
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

from tests.compatibility.namespaces import KPROXY_BACK_ADDRESS, KPROXY_FRONT_ADDRESS, ThreeHosts
from tests.real_kafka.child import Child, ChildEnded, ChildTimedOut
from tests.real_kafka.logged_errors import OF_A_STALLED_MACHINE
from tests.real_kafka.paths import kept_logs_folder

LISTENING_PORT: Final = 19092
ADMIN_PORT: Final = 9644
EVERY_ADDRESS: Final = "0.0.0.0"
READY_TIMEOUT_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.05
LEVELS_OF_TROUBLE: Final = frozenset({"warning", "error", "critical"})
NOT_RENEWED: Final = "nothing was heard of the group's coordinator in time"
"""Why slots are lost where nobody ran for seconds."""


class KproxyOnItsHost(Child):
    """A `kproxy run` in front of `bootstrap_servers`; its admin port is reached from the brokers' host."""

    def __init__(self, hosts: ThreeHosts, bootstrap_servers: str, *, binds_every_address: bool) -> None:
        """Start it. With `binds_every_address` what it tells clients is not what it binds."""
        bind_host = EVERY_ADDRESS if binds_every_address else KPROXY_FRONT_ADDRESS
        settings = {
            "kproxy.listen": f"{bind_host}:{LISTENING_PORT}",
            "kproxy.advertised.host": KPROXY_FRONT_ADDRESS,
            "kproxy.admin.listener": f"{KPROXY_BACK_ADDRESS}:{ADMIN_PORT}",
            "kproxy.log.format": "json",
            "share.coordinator.state.topic.num.partitions": 4,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
        }
        options = [option for key, value in settings.items() for option in ("-X", f"{key}={value}")]
        kproxy = [sys.executable, "-m", "kproxy", "run", "-b", bootstrap_servers, *options]
        super().__init__("kproxy", hosts.on_kproxy_host(kproxy))

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given."""
        return f"{KPROXY_FRONT_ADDRESS}:{LISTENING_PORT}"

    def wait_until_ready(self) -> None:
        """Return when `/readyz` says so; raises `ChildEnded` or `ChildTimedOut`."""
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        while not self._is_ready():
            if not self.is_running:
                raise ChildEnded(f"kproxy ended before it was ready: {self.errors()}")
            if time.monotonic() > deadline:
                raise ChildTimedOut(f"kproxy is not ready: {self.errors()}")
            time.sleep(POLL_SECONDS)

    def troubles(self) -> list[dict[str, Any]]:
        """Its log lines so far that say that something is wrong, and with more than the speed of the machine."""
        lines = (json.loads(line) for line in self.errors().splitlines() if line.startswith("{"))
        return [
            line for line in lines if line["level"] in LEVELS_OF_TROUBLE and not _is_of_stalled_machine(line)
        ]

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            error.add_note(f"kproxy's log:\n{self.errors()[-4000:]}")
        self.stop()

    def keep_log(self, name: str) -> None:
        """Write what it has logged to where logs of failed runs are kept."""
        kept_logs_folder().mkdir(parents=True, exist_ok=True)
        (kept_logs_folder() / f"kproxy-{name}.log").write_text(self.errors())

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection(KPROXY_BACK_ADDRESS, ADMIN_PORT, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def _is_of_stalled_machine(line: Mapping[str, Any]) -> bool:
    """Whether it is logged where nothing was wrong but that nobody ran for seconds."""
    is_lease_lost = line["event"] == "fleet_slots_lost" and line["reason"] == NOT_RENEWED
    return line["event"] in OF_A_STALLED_MACHINE or is_lease_lost
