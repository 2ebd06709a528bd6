"""The real `kproxy run` as a child process, on ports of its own, with what it says and serves at hand."""

import http.client
import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil
from prometheus_client.parser import text_string_to_metric_families

from tests.real_kafka.child import Child, ChildEnded, ChildTimedOut
from tests.real_kafka.paths import kept_logs_folder
from tests.real_kafka.ports import LOOPBACK, ReservedPort

READY_TIMEOUT_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.02
HTTP_TIMEOUT_SECONDS: Final = 20.0
HTTP_OK: Final = 200
GRACE_SECONDS: Final = 15.0
"""More than `kproxy.shutdown.grace.ms` has by default, so that a drain that takes too long is seen as such."""
ENVIRONMENT_PREFIX: Final = "KPROXY_"

STATE_TOPIC_PARTITIONS: Final = 4

_log_numbers: Final = itertools.count(1)
_state_topic_numbers: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class AdminAnswer:
    """What a path of the admin port answered."""

    status: int
    items: tuple[Mapping[str, Any], ...]


class MetricValues:
    """All numbers of one scrape, by the name that Prometheus sees and the labels."""

    __slots__ = ("_values",)

    def __init__(self, exposition: str) -> None:
        self._values = {
            (sample.name, frozenset(sample.labels.items())): float(sample.value)
            for family in text_string_to_metric_families(exposition)
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """The number of exactly these labels; 0 where there is none, as of a counter nobody has counted up."""
        return self._values.get((name, frozenset(labels.items())), 0.0)

    def total(self, name: str, **labels: str) -> float:
        """The sum over every label set that has these labels among its own."""
        wanted = labels.items()
        return sum(
            value for (sample, having), value in self._values.items() if sample == name and wanted <= having
        )


def state_topic_settings() -> dict[str, str | int]:
    """State topics that nobody else has, small enough for one broker; a restart is given the same settings again."""
    number = f"{os.getpid()}-{next(_state_topic_numbers)}-{time.time_ns() % 1_000_000:06d}"
    return {
        "kproxy.state.topic.name": f"__kproxy_share_state-{number}",
        "kproxy.groups.topic.name": f"__kproxy_share_groups-{number}",
        "share.coordinator.state.topic.num.partitions": STATE_TOPIC_PARTITIONS,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
    }


class KproxyPorts:
    """The ports of a kproxy, held for it until `release`: processes that take each other's place have the same ones."""

    def __init__(self, node_ids: Sequence[int] = (1,)) -> None:
        self.listen, self.admin = ReservedPort(), ReservedPort()
        self.of_brokers = {node_id: ReservedPort() for node_id in node_ids}

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of the bootstrap port."""
        return self.listen.address

    def release(self) -> None:
        """Give them back. May be called again."""
        for port in (self.listen, self.admin, *self.of_brokers.values()):
            port.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class KproxyProcess(Child):
    """A kproxy in front of `bootstrap_servers`: started by the constructor, gone after `drain`, `stop` or `kill`.

    Its ports are reserved, so that nobody else gets them before it binds them. Variables of the environment
    that would configure it are taken away. What it logs is kept under `build/kafka-logs/` when a `with` ends
    on an error.

    Unless `settings` name them, its state topics are its own: processes with the same ones are a fleet, which shares
    out the slots.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        node_ids: Sequence[int] = (1,),
        settings: Mapping[str, str | int] | None = None,
        environment: Mapping[str, str] | None = None,
        module: str = "kproxy",
        ports: KproxyPorts | None = None,
    ) -> None:
        """Start it. Brokers with `node_ids` get reserved ports; `settings` are `-X` keys and values.

        `module` is what Python runs with the arguments of kproxy. `ports` are those of a kproxy before this one, and
        stay reserved behind it.
        """
        self._ports = ports or KproxyPorts(node_ids)
        self._has_own_ports = ports is None
        self._listen, self._admin = self._ports.listen, self._ports.admin
        self._broker_ports = self._ports.of_brokers
        all_settings = {
            "kproxy.listen": self._listen.address,
            "kproxy.admin.listener": self._admin.address,
            "kproxy.broker.port.map": ",".join(
                f"{node_id}={port.number}" for node_id, port in self._broker_ports.items()
            ),
            "kproxy.log.format": "json",
            **state_topic_settings(),
            **(settings or {}),
        }
        command = [*_with_environment(environment or {}), sys.executable, "-m", module]
        command += ["run", "-b", bootstrap_servers]
        for key, value in all_settings.items():
            command += ["-X", f"{key}={value}"]
        super().__init__("kproxy", command)

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of its bootstrap port."""
        return self._listen.address

    @property
    def broker_addresses(self) -> dict[int, str]:
        """`HOST:PORT` of the port that stands for each broker, by node id."""
        return {node_id: port.address for node_id, port in self._broker_ports.items()}

    @property
    def own_ports(self) -> set[int]:
        """Every port that clients may be told of."""
        return {self._listen.number, *(port.number for port in self._broker_ports.values())}

    @property
    def admin_url(self) -> str:
        """Where health, metrics and status are served."""
        return f"http://{self._admin.address}"

    # ---- the admin port

    def wait_until_ready(self, *, timeout_seconds: float = READY_TIMEOUT_SECONDS) -> None:
        """Return when `/readyz` answers 200.

        Raises `ChildEnded` if it ends before that, `ChildTimedOut` if it is not ready in time.
        """
        self.wait_until(lambda: self.readiness().status == HTTP_OK, timeout_seconds=timeout_seconds)

    def wait_until(
        self, is_so: Callable[[], bool], *, timeout_seconds: float = READY_TIMEOUT_SECONDS
    ) -> None:
        """Return when `is_so`, asked again and again; the admin port need not be bound yet.

        Raises `ChildEnded` if kproxy ends before that, `ChildTimedOut` if it is not so in time.
        """
        deadline = time.monotonic() + timeout_seconds
        while not _answered_true(is_so):
            if not self.is_running:
                raise ChildEnded(f"kproxy ended while it was waited for: {self.errors()}")
            if time.monotonic() > deadline:
                raise ChildTimedOut(f"waited {timeout_seconds:.0f} s in vain: {self.errors()}")
            time.sleep(POLL_SECONDS)

    def is_alive(self) -> bool:
        """Whether `/livez` says so. Raises OSError while the admin port is not bound."""
        return self._ask("/livez").status == HTTP_OK

    def readiness(self) -> AdminAnswer:
        """What `/readyz` says. Raises OSError while the admin port is not bound."""
        return self._ask("/readyz")

    def status(self) -> Mapping[str, Any]:
        """The item of `/api/v1/status`. Raises OSError while the admin port is not bound."""
        return self._ask("/api/v1/status").items[0]

    def owned_slots(self) -> set[int]:
        """The slots of the state log that it serves now. Raises OSError while the admin port is not bound."""
        slots = self._ask("/api/v1/state-log?scope=local").items
        return {slot["partition"] for slot in slots if slot["state"] == "ready"}

    def state_items(self, slot: int) -> tuple[Mapping[str, Any], ...]:
        """The items of `/api/v1/state-log/{slot}/state`. Raises OSError while the admin port is not bound."""
        return self._ask(f"/api/v1/state-log/{slot}/state").items

    def group_item(self, group: str) -> Mapping[str, Any]:
        """The item of `/api/v1/groups/{group}`. Raises OSError while the admin port is not bound."""
        return self._ask(f"/api/v1/groups/{group}").items[0]

    def assignments(self, group: str) -> list[tuple[int, ...]]:
        """The partitions that each member of a group was told last; none before there is such a group.

        Raises OSError while the admin port is not bound.
        """
        return sorted(
            tuple(number for topic in member["assignment"] for number in topic["partitions"])
            for member in self.group_item(group).get("members", ())
        )

    def wait_until_shared_out(self, group: str, *, members: int, partitions: int) -> None:
        """Return when the members of a group have been told of so many partitions together, each of some.

        Raises as `wait_until` does.
        """

        def is_so() -> bool:
            shares = [len(held) for held in self.assignments(group)]
            return len(shares) == members and all(shares) and sum(shares) == partitions

        self.wait_until(is_so)

    def sessions(self, group: str) -> tuple[Mapping[str, Any], ...]:
        """The items of `/api/v1/sessions?group={group}`. Raises OSError while the admin port is not bound."""
        return self._ask(f"/api/v1/sessions?group={group}").items

    def lags(self, group: str) -> Mapping[int, int | None]:
        """The lag of each share-partition of a group with one topic, by partition; None where it is not known now.

        Empty while the group is not known. Raises OSError while the admin port is not bound.
        """
        share_partitions = self.group_item(group).get("sharePartitions", ())
        return {each["partition"]: each["lag"] for each in share_partitions}

    def metrics(self) -> MetricValues:
        """What `/metrics` says. Raises OSError while the admin port is not bound."""
        _, body = self._get("/metrics")
        return MetricValues(body)

    # ---- the process

    def resident_bytes(self) -> int:
        """The memory it occupies now."""
        return int(psutil.Process(self.process_id).memory_info().rss)

    def start_line(self, *, timeout_seconds: float = READY_TIMEOUT_SECONDS) -> str:
        """What it printed on its standard output when it was ready; the line before it says that it listens."""
        line = self.next_line(timeout_seconds=timeout_seconds)
        return line if line.split()[2] == "ready:" else self.next_line(timeout_seconds=timeout_seconds)

    def log_events(self, event: str | None = None, **keys: object) -> list[dict[str, Any]]:
        """Its log lines so far, or those with this event and these keys among theirs."""
        lines = (json.loads(line) for line in self.errors().splitlines() if line.startswith("{"))
        return [
            line
            for line in lines
            if (event is None or line["event"] == event) and keys.items() <= line.items()
        ]

    def drain(self, *, timeout_seconds: float = GRACE_SECONDS) -> int:
        """Send SIGTERM and wait for its end; the exit status. Raises `ChildTimedOut`."""
        self.terminate()
        return self.wait(timeout_seconds=timeout_seconds)

    def stop(self) -> None:
        """End it if it runs, and give its ports back. May be called again."""
        super().stop()
        self._release_ports()

    def kill(self) -> None:
        """SIGKILL; its ports refuse when this returns."""
        super().kill()
        self._release_ports()

    def keep_log(self) -> Path:
        """Write what it has logged so far to where failed runs are kept; the file."""
        folder = kept_logs_folder()
        folder.mkdir(parents=True, exist_ok=True)
        started = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        log = folder / f"kproxy-{started}-{os.getpid()}-{next(_log_numbers)}.log"
        log.write_text(self.errors())
        return log

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            error.add_note(f"kproxy's log: {self.keep_log()}")
        self.stop()

    def _release_ports(self) -> None:
        if self._has_own_ports:
            self._ports.release()

    def _ask(self, path: str) -> AdminAnswer:
        status, body = self._get(path)
        return AdminAnswer(status, tuple(json.loads(body)["items"]))

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(LOOPBACK, self._admin.number, timeout=HTTP_TIMEOUT_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def _answered_true(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except (OSError, http.client.HTTPException):
        return False


def _with_environment(more: Mapping[str, str]) -> list[str | Path]:
    """The beginning of a command that runs without this process's `KPROXY_…` variables and with `more`."""
    env = shutil.which("env")
    assert env is not None, "env is a part of every Linux"
    taken_away = [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX)]
    options = [option for name in taken_away for option in ("-u", name)]
    return [Path(env), *options, *(f"{name}={value}" for name, value in more.items())]
