"""deploy/prometheus/: what rules name exists, every alert tells enough, and has a unit test (`make alert-checks`)."""

import re
from typing import Any, Final

import pytest

from kproxy.settings import KEYS
from tests.deploy.exposed_metrics import EXPOSED, TARGET_LABELS, faults_of
from tests.deploy.promql import label_list, selectors
from tests.deploy.rule_files import (
    CONFIGURATION,
    RULE_TESTS,
    RULES,
    Alert,
    alerts,
    labels_of_recorded,
    read,
    recorded,
)

ALERTS: Final = alerts()
SEVERITIES: Final = {"critical", "warning", "info"}


def rule_tests() -> list[Any]:
    tests = read(RULE_TESTS)["tests"]
    assert isinstance(tests, list)
    return tests


def looked_for(test: Any) -> set[str]:
    return {check["alertname"] for check in test["alert_rule_test"]}


def labels_known_to(alert: Alert) -> frozenset[str]:
    """What the series of an alert may have as labels."""
    recorded_labels = labels_of_recorded()
    labels: frozenset[str] = TARGET_LABELS | label_list(alert.expression)
    for selector in selectors(alert.expression):
        in_rules = recorded_labels.get(selector.name)
        labels |= EXPOSED[selector.name].labels if in_rules is None else in_rules
    return labels


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_names_only_metrics_labels_and_values_that_there_are(alert: Alert) -> None:
    assert faults_of(alert.expression, labels_of_recorded()) == []


@pytest.mark.parametrize("name", recorded())
def test_a_recorded_series_names_only_metrics_labels_and_values_that_there_are(name: str) -> None:
    assert faults_of(recorded()[name], {}) == []


def test_every_recorded_series_is_used_by_an_alert() -> None:
    # When
    used = {selector.name for alert in ALERTS for selector in selectors(alert.expression)}

    # Then
    assert set(recorded()) <= used


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_says_how_urgent_it_is_what_was_seen_and_where_to_read_on(alert: Alert) -> None:
    assert alert.labels["severity"] in SEVERITIES
    assert set(alert.annotations) == {"summary", "description", "runbook"}
    assert "$value" in alert.annotations["description"]
    assert alert.annotations["runbook"] == f"deploy/RUNBOOK.md#{alert.name.lower()}"


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_what_an_alert_says_names_only_labels_that_it_has(alert: Alert) -> None:
    # When
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(alert.annotations.values())))

    # Then
    assert named <= labels_known_to(alert)


def test_each_alert_is_named_once() -> None:
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)


def test_every_alert_has_a_unit_test_and_every_unit_test_an_alert() -> None:
    assert [looked_for(test) for test in rule_tests()] == [{alert.name} for alert in ALERTS]


@pytest.mark.parametrize("test", rule_tests(), ids=lambda test: test["name"].partition(":")[0])
def test_a_unit_test_of_an_alert_has_series_as_kproxy_exposes_them(test: Any) -> None:
    # When
    faults = [fault for each in test["input_series"] for fault in faults_of(each["series"], {})]

    # Then
    assert [fault for fault in faults if not re.search(r"reason of kproxy_requests_refused", fault)] == []


@pytest.mark.parametrize(
    ("alert", "test"),
    list(zip(ALERTS, rule_tests(), strict=True)),
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_unit_test_sees_an_alert_wait_fire_and_go_away(alert: Alert, test: Any) -> None:
    # When
    expected = [bool(check["exp_alerts"]) for check in test["alert_rule_test"]]

    # Then
    assert expected == ([False, True, False] if alert.wait else [True, False])


def test_prometheus_loads_the_rules_and_scrapes_the_admin_port() -> None:
    # Given
    configuration = read(CONFIGURATION)

    # When
    (scraped,) = configuration["scrape_configs"]
    (target,) = scraped["static_configs"]

    # Then
    assert configuration["rule_files"] == [RULES.name]
    assert (scraped["job_name"], scraped["metrics_path"]) == ("kproxy", "/metrics")
    assert set(target["labels"]) == {"fleet"}
    admin_port = str(KEYS["kproxy.admin.listener"].default).rpartition(":")[2]
    assert [address.rpartition(":")[2] for address in target["targets"]] == [admin_port]
