"""A kproxy on a host of its own, which a test ends and starts again; every life has the same addresses."""

import http.client
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.misfortunes.network import FleetNetwork, kproxy_address
from tests.real_kafka.acquisitions import FILE_VARIABLE, NOTING_MODULE, Acquisition, read_acquisitions
from tests.real_kafka.child import Child, ChildEnded, ChildTimedOut
from tests.real_kafka.kproxy_process import MetricValues

LISTENING_PORT: Final = 19092
ADMIN_PORT: Final = 9644
FLEET_PORT: Final = 19099
READY_TIMEOUT_SECONDS: Final = 90.0
GRACE_SECONDS: Final = 20.0
"""For an end in order; `kproxy.shutdown.grace.ms` is 10 s by default."""
POLL_SECONDS: Final = 0.02
HTTP_TIMEOUT_SECONDS: Final = 5.0
HTTP_OK: Final = 200
TOKEN: Final = "token-of-the-admin-ports"


class HostedKproxy:
    """Kproxy `number` of a fleet in front of `bootstrap_servers`; nothing runs before `begin`."""

    def __init__(
        self, network: FleetNetwork, number: int, bootstrap_servers: str, settings: Mapping[str, str | int]
    ) -> None:
        self.number = number
        self.address: Final = kproxy_address(number)
        self._token = tempfile.NamedTemporaryFile("w", prefix="kproxy-token-")  # noqa: SIM115 - for all its lives
        self._token.write(TOKEN)
        self._token.flush()
        all_settings = {
            "kproxy.listen": f"{self.address}:{LISTENING_PORT}",
            "kproxy.admin.listener": f"{self.address}:{ADMIN_PORT}",
            "kproxy.admin.token.file": self._token.name,
            "kproxy.fleet.listener": f"{self.address}:{FLEET_PORT}",
            "kproxy.log.format": "json",
            **settings,
        }
        options = [option for key, value in all_settings.items() for option in ("-X", f"{key}={value}")]
        self._notes = tempfile.NamedTemporaryFile(prefix="kproxy-acquisitions-")  # noqa: SIM115 - for all its lives
        noting = ["env", f"{FILE_VARIABLE}={self._notes.name}", sys.executable, "-m", NOTING_MODULE]
        command: list[str | Path] = [*noting, "run", "-b", bootstrap_servers, *options]
        self._command = network.on_kproxy_host(number, command)
        self._life: Child | None = None
        self._former_logs: list[str] = []

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given."""
        return f"{self.address}:{LISTENING_PORT}"

    @property
    def is_running(self) -> bool:
        """Whether a life has begun and not ended."""
        return self._life is not None and self._life.is_running

    def acquisitions(self) -> list[Acquisition]:
        """Which records became somebody's in all its lives."""
        return read_acquisitions(Path(self._notes.name))

    # ---- its lives

    def begin(self) -> None:
        """Begin a life; returns at once."""
        assert self._life is None, "it lives"
        self._life = Child(f"kproxy {self.number}", self._command)

    def kill(self) -> None:
        """SIGKILL: it does not get to say goodbye."""
        life = self._the_life()
        life.kill()
        self._bury(life)

    def end_in_order(self) -> int:
        """SIGTERM, and wait for its end; the exit status. Raises `ChildTimedOut`."""
        life = self._the_life()
        life.terminate()
        status = life.wait(timeout_seconds=GRACE_SECONDS)
        self._bury(life)
        return status

    def pause(self) -> None:
        """SIGSTOP."""
        self._the_life().pause()

    def resume(self) -> None:
        """SIGCONT."""
        self._the_life().resume()

    def end(self) -> None:
        """End it if it lives. May be called again."""
        if self._life is not None:
            self._life.kill()
            self._bury(self._life)

    # ---- what it says

    def wait_until_ready(self) -> None:
        """Return when `/readyz` says so; raises `ChildEnded` or `ChildTimedOut`."""
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        while self._status("/readyz") != HTTP_OK:
            if not self.is_running:
                raise ChildEnded(f"kproxy {self.number} ended before it was ready: {self._tail()}")
            if time.monotonic() > deadline:
                status, body = self._get("/readyz")
                raise ChildTimedOut(f"kproxy {self.number} is not ready: {status} {body} {self._tail()}")
            time.sleep(POLL_SECONDS)

    def owned_slots(self) -> set[int]:
        """The slots that it serves now; none if it does not answer."""
        try:
            items = self.items("/api/v1/state-log?scope=local")
        except OSError:
            return set()
        return {slot["partition"] for slot in items if slot["state"] == "ready"}

    def items(self, path: str) -> list[dict[str, Any]]:
        """The items of an answer of its admin port. Raises OSError when there is none."""
        answer: dict[str, Any] = json.loads(self._get(path)[1])
        return list(answer.get("items", ()))

    def metrics(self) -> MetricValues:
        """What `/metrics` says. Raises OSError when it does not."""
        return MetricValues(self._get("/metrics")[1])

    def log_events(self, event: str | None = None, **keys: object) -> list[dict[str, Any]]:
        """The log lines of all lives, or those with this event and these keys among theirs."""
        lines = (json.loads(line) for line in self.log().splitlines() if line.startswith("{"))
        return [
            line
            for line in lines
            if (event is None or line["event"] == event) and keys.items() <= line.items()
        ]

    def log(self) -> str:
        """What all lives wrote to their standard error."""
        return "".join([*self._former_logs, "" if self._life is None else self._life.errors()])

    # ---- private

    def _the_life(self) -> Child:
        assert self._life is not None, "it does not live"
        return self._life

    def _bury(self, life: Child) -> None:
        life.kill()
        self._former_logs.append(life.errors())
        self._life = None

    def _tail(self) -> str:
        return self.log()[-4000:]

    def _status(self, path: str) -> int:
        try:
            return self._get(path)[0]
        except (OSError, http.client.HTTPException):
            return 0

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.address, ADMIN_PORT, timeout=HTTP_TIMEOUT_SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()
