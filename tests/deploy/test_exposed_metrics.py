"""What is wrong with an expression is found: a metric, a label, a value, a bucket, a label to group by."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kproxy.telemetry.metric_declaration import MetricKind
from kproxy.telemetry.metric_table import DECLARATIONS
from kproxy.telemetry.metrics import Metrics
from tests.deploy.exposed_metrics import EXPOSED, faults_of, metrics_of


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("kproxy_share_lag > 0", "kproxy_share_lag does not exist"),
        ("rate(kproxy_share_deliveries[5m])", "kproxy_share_deliveries does not exist"),
        ("kproxy_statelog_append_seconds > 1", "kproxy_statelog_append_seconds does not exist"),
        ("instance:kproxy_a:p99 > 1", "instance:kproxy_a:p99 does not exist"),
        ('kproxy_share_lag_records{topic="t"}', "kproxy_share_lag_records has no label topic"),
        ('kproxy_statelog_slots{state="broken"}', "state of kproxy_statelog_slots is never broken"),
        (
            'kproxy_share_archived_total{reason=~"rejected|bored"}',
            "reason of kproxy_share_archived_total is never bored",
        ),
        (
            'kproxy_statelog_append_seconds_bucket{le="0.3"}',
            "le of kproxy_statelog_append_seconds_bucket is never 0.3",
        ),
        ("sum by (group) (kproxy_share_sessions)", "no metric of it has the label group"),
        (
            'label_replace(kproxy_share_sessions, "a", "b", "", "") == on (c) up',
            "no metric of it has the label c",
        ),
    ],
)
def test_what_is_not_there_is_named(expression: str, fault: str) -> None:
    assert faults_of(expression, {}) == [fault]


@pytest.mark.parametrize(
    "expression",
    [
        'kproxy_statelog_slots{state=~"ready|stopped", fleet="a", instance="b", job="c"}',
        "histogram_quantile(0.99, sum by (le, group) (rate(kproxy_share_acquire_seconds_bucket[5m])))",
        'kproxy_statelog_replay_seconds_bucket{le="30.0"}',
        'label_replace(up, "reason", "x", "", "") or on (reason) kproxy_share_archived_total',
        "instance:kproxy_a:p99 > on (instance) 1",
    ],
)
def test_what_is_there_is_no_fault(expression: str) -> None:
    assert faults_of(expression, {"instance:kproxy_a:p99": frozenset({"instance"})}) == []


def test_a_recorded_series_stands_for_the_metrics_that_it_is_made_of() -> None:
    # Given
    recorded = {"instance:kproxy_a:p99": "rate(kproxy_statelog_append_seconds_bucket[5m])"}

    # Then
    assert metrics_of("instance:kproxy_a:p99 > up", recorded) == {"kproxy_statelog_append_seconds", "up"}


def test_series_have_the_names_and_labels_of_a_scrape() -> None:
    # Given
    metrics = Metrics()
    for metric in DECLARATIONS:
        labels = metric.initial[0] if metric.initial else ("x",) * len(metric.labels)
        if metric.kind is MetricKind.COUNTER:
            metrics.count(metric.name, 1, *labels)
        elif metric.kind is MetricKind.HISTOGRAM:
            metrics.observe(metric.name, 0.0, *labels)
        else:
            metrics.register_gauge(metric.name, lambda labels=labels: {labels: 1.0})  # type: ignore[misc]  # bound at once

    # When
    scraped: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(metrics.exposition().body.decode()):
        for sample in family.samples:
            values = scraped.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                values.setdefault(label, set()).add(value)

    # Then
    named = {name: series for name, series in EXPOSED.items() if name.startswith("kproxy_")}
    assert {name: set(scraped.get(name, ())) for name in named} == {
        name: set(series.labels) for name, series in named.items()
    }
    assert {name: scraped[name]["le"] for name in named if name.endswith("_bucket")} == {
        name: set(series.words["le"]) for name, series in named.items() if name.endswith("_bucket")
    }
