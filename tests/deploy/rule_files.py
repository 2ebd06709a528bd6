"""The rules of Prometheus in deploy/prometheus/, as they stand there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.exposed_metrics import EXPOSED, TARGET_LABELS, metrics_of
from tests.deploy.promql import selectors

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS: Final = DEPLOY / "prometheus"
RULES: Final = PROMETHEUS / "kproxy-rules.yml"
RULE_TESTS: Final = PROMETHEUS / "kproxy-rules.test.yml"
CONFIGURATION: Final = PROMETHEUS / "prometheus.yml"


@dataclass(frozen=True, slots=True)
class Alert:
    """An alerting rule."""

    name: str
    expression: str
    wait: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@cache
def read(path: Path) -> Any:
    """Return what a file of YAML holds that is one document."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _rules() -> list[Mapping[str, Any]]:
    return [rule for group in read(RULES)["groups"] for rule in group["rules"]]


def alerts() -> list[Alert]:
    """Return every alert, in the order in which they stand there."""
    return [
        Alert(rule["alert"], rule["expr"], rule.get("for", ""), rule["labels"], rule["annotations"])
        for rule in _rules()
        if "alert" in rule
    ]


def recorded() -> dict[str, str]:
    """Return the expression of every recorded series by its name."""
    return {rule["record"]: rule["expr"] for rule in _rules() if "record" in rule}


@cache
def labels_of_recorded() -> dict[str, frozenset[str]]:
    """Return which labels recorded series may have: those grouped `by`, or those of the metrics not dropped."""
    return {name: _kept_labels(expression) for name, expression in recorded().items()}


@cache
def metrics_of_alerts() -> dict[str, set[str]]:
    """Return the metrics that each alert looks at."""
    return {alert.name: metrics_of(alert.expression, recorded()) for alert in alerts()}


def _kept_labels(expression: str) -> frozenset[str]:
    if kept := re.findall(r"\bby\s*\(([^)]*)\)", expression):
        return frozenset(label.strip() for labels in kept for label in labels.split(","))
    dropped = {
        label.strip()
        for labels in re.findall(r"\b(?:without|ignoring)\s*\(([^)]*)\)", expression)
        for label in labels.split(",")
    }
    having = {label for selector in selectors(expression) for label in EXPOSED[selector.name].labels}
    return frozenset(having - dropped - {"le"}) | TARGET_LABELS
