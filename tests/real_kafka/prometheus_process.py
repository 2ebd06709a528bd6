"""Debian's Prometheus as a child process, with configuration and rules of deploy/prometheus/, but for the targets.

A quick one shortens times, and nothing else: it looks every second, and no alert waits.
"""

import http.client
import json
import shutil
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import yaml

from tests.real_kafka.child import Child
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.ports import ReservedPort
from tests.real_kafka.run_folder import RunFolder

SHIPPED: Final = PROJECT_ROOT / "deploy" / "prometheus"
HTTP_TIMEOUT_SECONDS: Final = 10.0
HTTP_OK: Final = 200
POLL_SECONDS: Final = 1.0
QUICK_LOOKS: Final = "1s"
AT_ONCE: Final = "0s"


def prometheus() -> Path | None:
    """The program, None where it is not installed."""
    found = shutil.which("prometheus")
    return None if found is None else Path(found)


def looking_often(configuration: Any) -> Any:
    """Return `configuration` with scrapes and evaluations every second."""
    often = {"scrape_interval": QUICK_LOOKS, "evaluation_interval": QUICK_LOOKS}
    return {**configuration, "global": {**configuration["global"], **often}}


def without_waits(rules: Any) -> Any:
    """Return `rules` in which every alert that waits (`for`) fires when it is so for the first time."""
    groups = [
        {**group, "rules": [{**rule, "for": AT_ONCE} if "for" in rule else rule for rule in group["rules"]]}
        for group in rules["groups"]
    ]
    return {**rules, "groups": groups}


class PrometheusProcess(Child):
    """Scrapes `targets`, each `HOST:PORT`, as prometheus.yml says; its data is gone with it."""

    def __init__(self, program: Path, targets: Sequence[str], *, is_quick: bool = False) -> None:
        self._port, self._folder = ReservedPort(), RunFolder.create("prometheus")
        configuration = _shipped("prometheus.yml")
        configuration["scrape_configs"][0]["static_configs"][0]["targets"] = list(targets)
        if is_quick:
            configuration = looking_often(configuration)
        for name in configuration["rule_files"]:
            rules = without_waits(_shipped(name)) if is_quick else _shipped(name)
            (self._folder.path / name).write_text(yaml.safe_dump(rules), encoding="utf-8")
        adapted = self._folder.path / "prometheus.yml"
        adapted.write_text(yaml.safe_dump(configuration), encoding="utf-8")
        super().__init__(
            "prometheus",
            [
                program,
                f"--config.file={adapted}",
                f"--storage.tsdb.path={self._folder.path / 'data'}",
                f"--web.listen-address={self._port.address}",
            ],
        )

    def is_answering(self) -> bool:
        """Whether it takes questions yet."""
        try:
            return self._get("/-/ready")[0] == HTTP_OK
        except OSError:
            return False

    def ask(self, expression: str) -> list[Mapping[str, Any]]:
        """The series that answer `expression` now. Raises ValueError with what it says of one that it cannot read."""
        status, body = self._get(f"/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
        answer = json.loads(body)
        if status != HTTP_OK:
            raise ValueError(f"{expression!r}: {answer['error']}")
        found = answer["data"]["result"]
        assert isinstance(found, list)
        return found

    def rules(self) -> list[Mapping[str, Any]]:
        """Every rule with its state and how its last evaluation went."""
        _, body = self._get("/api/v1/rules")
        return [rule for group in json.loads(body)["data"]["groups"] for rule in group["rules"]]

    def alerts(self) -> list[Mapping[str, Any]]:
        """Every alert that fires now, with labels and annotations as somebody is told them."""
        _, body = self._get("/api/v1/alerts")
        return [alert for alert in json.loads(body)["data"]["alerts"] if alert["state"] == "firing"]

    def firing(self) -> set[str]:
        """The names of the alerts that fire now."""
        return {rule["name"] for rule in self.rules() if rule.get("state") == "firing"}

    def wait_until_scraped(self, count: int, *, timeout_seconds: float) -> None:
        """Return when so many targets answer. Raises AssertionError when they do not in time."""
        deadline = time.monotonic() + timeout_seconds
        while not self.is_answering() or len(self.ask("up == 1")) != count:
            assert time.monotonic() < deadline, f"{count} targets were to be scraped: {self.errors()[-2000:]}"
            time.sleep(POLL_SECONDS)

    def fired_until(self, wanted: set[str], *, timeout_seconds: float) -> set[str]:
        """Every alert that fired until all of `wanted` do together, or in the time given."""
        deadline, fired = time.monotonic() + timeout_seconds, set[str]()
        while time.monotonic() < deadline:
            now = self.firing()
            fired |= now
            if wanted <= now:
                break
            time.sleep(POLL_SECONDS)
        return fired

    def stop(self) -> None:
        """End it, and remove its data. May be called again."""
        super().stop()
        self._port.release()
        self._folder.remove()

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            error.add_note(f"Prometheus' log: {self.errors()[-2000:]}")
        self.stop()

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(
            self._port.host, self._port.number, timeout=HTTP_TIMEOUT_SECONDS
        )
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def _shipped(name: str) -> Any:
    return yaml.safe_load((SHIPPED / name).read_text(encoding="utf-8"))
