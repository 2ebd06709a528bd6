"""A planted trouble raises its alert, and the section of the runbook leads to it."""

import re
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deploy.rule_files import alerts
from tests.real_kafka.prometheus_process import PrometheusProcess
from tests.troubles.catalogue import TROUBLES, alert_of
from tests.troubles.ground import Ground
from tests.troubles.walking import Walk

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(300)]

SCRAPED_SECONDS: Final = 30.0
FIRED_SECONDS: Final = 45.0
POLL_SECONDS: Final = 0.5
AT_ONCE: Final = frozenset({"KproxyGroupStandsStill", "KproxySlotsWithoutOwner"})
"""Fire while any record is held, and until each process of a fleet was scraped once: this Prometheus does not wait for
ten minutes of that, or five."""
RULES: Final = {alert.name: alert for alert in alerts()}


class Watch:
    """Looks at a Prometheus until an alert fires, and remembers which others did."""

    def __init__(self, watching: PrometheusProcess) -> None:
        self._watching = watching
        self.fired: set[str] = set()

    def wait_for(self, name: str, labels: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the alert that fires with these labels among its own."""
        deadline = time.monotonic() + FIRED_SECONDS
        while True:
            firing = self.look()
            for alert in firing:
                if alert["labels"]["alertname"] == name and labels.items() <= alert["labels"].items():
                    return alert
            assert time.monotonic() < deadline, f"{name} {labels} does not fire: {firing}"
            time.sleep(POLL_SECONDS)

    def look(self) -> list[Mapping[str, Any]]:
        """Return what fires now."""
        firing = self._watching.alerts()
        self.fired |= {alert["labels"]["alertname"] for alert in firing}
        return firing


def unnamed(alert: Mapping[str, Any]) -> list[str]:
    """What an alert should say and does not: labels that its text names and that it does not have."""
    said = RULES[alert["labels"]["alertname"]].annotations
    blanks = [text for text in alert["annotations"].values() if "<no value>" in text or "<error" in text]
    # Of labels without anything between them a series has one.
    named = [found[0] for text in said.values() for found in re.finditer(r"(\{\{ \$labels\.\w+ \}\})+", text)]
    return blanks + [
        names
        for names in named
        if not any(alert["labels"].get(label) for label in re.findall(r"\$labels\.(\w+)", names))
    ]


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_raises_its_alert_and_its_section_of_the_runbook_leads_to_it(
    name: str, ground: Ground, program: Path, tmp_path: Path
) -> None:
    # Given
    with ExitStack() as stack:
        trouble = TROUBLES[name](ground, stack, tmp_path)
        scraped = trouble.prepare()
        targets = [kproxy.admin_url.removeprefix("http://") for kproxy in scraped]
        watching = stack.enter_context(PrometheusProcess(program, targets, is_quick=True))
        watching.wait_until_scraped(len(targets), timeout_seconds=SCRAPED_SECONDS)
        watch = Watch(watching)

        # When
        trouble.strike()
        alert = watch.wait_for(alert_of(name), trouble.labels)

        # Then
        walk = Walk(trouble.asked.admin_url, trouble.settings, trouble.names)
        missing = []
        for line, told in {**trouble.told, **trouble.remedies}.items():
            missing += walk.take(line).misses(told, trouble.names)
        kept = walk.keep(name, alert)
        watch.look()
        assert unnamed(alert) == []
        assert missing == [], f"see {kept}"
        assert watch.fired <= {alert_of(name), *trouble.beside, *AT_ONCE}
