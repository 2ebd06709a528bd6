"""What the Prometheus Operator and KEDA are told in deploy/kubernetes/."""

from typing import Any, Final

import pytest
import yaml

from tests.deploy.exposed_metrics import TARGET_LABELS, faults_of, metrics_of
from tests.deploy.rule_files import CONFIGURATION, DEPLOY, read

KUBERNETES: Final = DEPLOY / "kubernetes"
MONITORS: Final = list(yaml.safe_load_all((KUBERNETES / "podmonitor.yaml").read_text(encoding="utf-8")))


def test_keda_scales_by_the_lag_of_a_group() -> None:
    # Given
    (trigger,) = read(KUBERNETES / "keda-scaledobject.yaml")["spec"]["triggers"]
    query = trigger["metadata"]["query"]

    # Then
    assert trigger["type"] == "prometheus"
    assert faults_of(query, {}) == []
    assert metrics_of(query, {}) == {"kproxy_share_lag_records"}


def test_keda_takes_no_answer_for_trouble_and_not_for_a_lag_of_nothing() -> None:
    # Given
    spec = read(KUBERNETES / "keda-scaledobject.yaml")["spec"]

    # Then
    assert spec["triggers"][0]["metadata"]["ignoreNullValues"] == "false"
    assert spec["minReplicaCount"] <= spec["fallback"]["replicas"] <= spec["maxReplicaCount"]


def test_numbers_of_a_trigger_are_text_as_keda_wants_them() -> None:
    # Given
    (trigger,) = read(KUBERNETES / "keda-scaledobject.yaml")["spec"]["triggers"]

    # Then
    assert all(isinstance(value, str) for value in trigger["metadata"].values())


@pytest.mark.parametrize("monitor", MONITORS, ids=lambda monitor: monitor["metadata"]["name"])
def test_a_monitor_scrapes_what_prometheus_yml_scrapes(monitor: Any) -> None:
    # Given
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    configuration = read(CONFIGURATION)
    (scraped,) = configuration["scrape_configs"]

    # Then
    assert (endpoint["port"], endpoint["path"]) == ("admin", scraped["metrics_path"])
    assert endpoint["interval"] == configuration["global"]["scrape_interval"]


@pytest.mark.parametrize("monitor", MONITORS, ids=lambda monitor: monitor["metadata"]["name"])
def test_a_monitor_names_the_fleet_and_is_found_by_the_alert_for_lost_processes(monitor: Any) -> None:
    # Given
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]

    # When
    made = {relabeling["targetLabel"] for relabeling in endpoint["relabelings"]}

    # Then
    assert made == {"fleet"} <= TARGET_LABELS
    assert "kproxy" in monitor["metadata"]["name"]


def test_no_pod_is_scraped_by_both_monitors() -> None:
    # When
    first, second = (monitor["spec"]["selector"]["matchExpressions"] for monitor in MONITORS)

    # Then
    assert [(each["key"], each["operator"]) for each in first] == [("kproxy-fleet", "Exists")]
    assert [(each["key"], each["operator"]) for each in second] == [("kproxy-fleet", "DoesNotExist")]
