"""kproxy/METRICS.md: every metric stands there as it is declared, with somebody who uses it, and so do Kafka's."""

import re
from pathlib import Path
from typing import Final

import pytest

from kproxy.telemetry.metric_table import DECLARATIONS
from tests.deploy.rule_files import metrics_of_alerts

ROOT: Final = Path(__file__).resolve().parents[2]
METRICS: Final = ROOT / "kproxy" / "METRICS.md"
DEPLOY: Final = ROOT / "deploy" / "README.md"
GUIDES: Final = [
    ROOT / name
    for name in (
        "README.md",
        "deploy/CONFIGURING.md",
        "deploy/SECURING.md",
        "deploy/OBSERVING.md",
        "kproxy/COMPARED.md",
        "kproxy/LIMITS.md",
        "kproxy/TESTED.md",
    )
]
OF_PROCESS: Final = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
SUFFIXES: Final = ("_bucket", "_sum", "_count")
BESIDE: Final = {"KproxyServesNothing": {"kproxy_statelog_slots"}}
"""What an alert looks at only to know whether it concerns a process at all."""

KAFKAS: Final = {
    "ShareGroupMetrics": {
        "RecordAcknowledgementsPerSec",
        "PartitionLoadTimeMs",
        "RequestTopicPartitionsFetchRatio",
        "TopicPartitionsAcquireTimeMs",
        "DeadLetterQueueRecordCount",
        "DeadLetterQueueTotalProduceRequestsPerSec",
        "DeadLetterQueueFailedProduceRequestsPerSec",
    },
    "SharePartitionMetrics": {
        "AcquisitionLockTimeoutPerSec",
        "InFlightMessageCount",
        "InFlightBatchCount",
        "InFlightBatchMessageCount",
        "FetchLockTimeMs",
        "FetchLockRatio",
    },
    "BrokerTopicMetrics": {
        "TotalShareFetchRequestsPerSec",
        "FailedShareFetchRequestsPerSec",
        "TotalShareAcknowledgementRequestsPerSec",
        "FailedShareAcknowledgementRequestsPerSec",
    },
    "ShareSessionCache": {"ShareSessionsCount", "SharePartitionsCount", "ShareSessionEvictionsPerSec"},
    "DelayedOperationPurgatory": {"NumDelayedOperations", "PurgatorySize"},
    "DelayedShareFetchMetrics": {"ExpiresPerSec"},
    "group-coordinator-metrics": {
        "group-count",
        "share-group-count",
        "share-group-rebalance-rate",
        "share-group-rebalance-count",
    },
    "share-coordinator-metrics": {
        "write-rate",
        "write-total",
        "write-latency-avg",
        "write-latency-max",
        "last-pruned-offset",
        "num-partitions",
        "partition-load-time-max",
        "partition-load-time-avg",
        "thread-idle-ratio-min",
        "thread-idle-ratio-avg",
        "batch-buffer-cache-size-bytes",
        "batch-buffer-cache-discard-count",
    },
}
"""Kafka's metrics of share groups: KIP-932's, and what 4.3.1 has besides; the dead letter queue is 4.4's."""


def section(heading: str) -> str:
    return METRICS.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables of `text`, without heads."""
    lines = [line for line in text.splitlines() if line.lstrip().startswith("| ")]
    cells = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0] not in {"metric", "Kafka's metric", "row", "what is seen"}]


def documented() -> dict[str, list[str]]:
    return {row[0].strip("`"): row[1:] for row in rows(section("Every metric"))}


def users() -> dict[str, set[str]]:
    """What may be named as using a metric, by its kind."""
    return {
        "alert": set(metrics_of_alerts()),
        "dashboard": {row[0] for row in rows(section("A dashboard"))},
        "runbook": {row[0] for row in rows(section("Runbook"))},
    }


def words_of(user: str) -> str:
    """What the user says, to find the metric's name in it."""
    kind, _, name = user.partition(": ")
    if kind == "alert":
        return " ".join(metrics_of_alerts()[name])
    text = METRICS.read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if line.lstrip().startswith(f"| {name} |"))


def named_in(text: str) -> set[str]:
    return set(re.findall(r"\b(?:kproxy|process)_[a-z_]+[a-z]\b", text)) - {"kproxy_share_groups_"}


def exists(name: str) -> bool:
    exposed = {metric.exposed_name for metric in DECLARATIONS} | OF_PROCESS
    return name in exposed or any(name.removesuffix(suffix) in exposed for suffix in SUFFIXES)


def test_no_metric_is_missing_and_none_is_invented() -> None:
    assert list(documented()) == [metric.exposed_name for metric in DECLARATIONS]


def test_kinds_and_labels_are_those_of_the_declarations() -> None:
    # Given
    declared = {
        metric.exposed_name: [metric.kind.value, ", ".join(f"`{label}`" for label in metric.labels) or "none"]
        for metric in DECLARATIONS
    }

    # Then
    assert {name: row[:2] for name, row in documented().items()} == declared


def test_every_metric_has_a_unit_and_answers_a_question() -> None:
    assert all(unit and question.endswith("?") for _, _, unit, question, _ in documented().values())


def test_every_metric_is_used_by_what_names_it() -> None:
    # Given
    known = users()

    # When
    unused = [
        (name, user)
        for name, row in documented().items()
        for user in row[4].split("; ")
        if user.partition(": ")[2] not in known.get(user.partition(": ")[0], ()) or name not in words_of(user)
    ]

    # Then
    assert not unused


def test_every_metric_that_an_alert_looks_at_names_the_alert() -> None:
    # Given
    named = {
        (user.removeprefix("alert: "), name)
        for name, row in documented().items()
        for user in row[4].split("; ")
        if user.startswith("alert: ")
    }

    # Then
    assert named == {
        (alert, metric)
        for alert, metrics in metrics_of_alerts().items()
        for metric in metrics
        if metric.startswith("kproxy_") and metric not in BESIDE.get(alert, set())
    }


@pytest.mark.parametrize("document", [METRICS, DEPLOY, *GUIDES], ids=lambda document: document.name)
def test_a_document_names_only_metrics_that_there_are(document: Path) -> None:
    # When
    unknown = [
        name for name in named_in(document.read_text(encoding="utf-8")) if not exists(name.rstrip("_"))
    ]

    # Then
    assert not unknown


@pytest.mark.parametrize("bean", KAFKAS)
def test_each_of_kafkas_metrics_stands_in_a_row_of_its_bean(bean: str) -> None:
    # Given
    of_bean = [
        row[0]
        for row in rows(section("Kafka's metrics of share groups, and kproxy's"))
        if row[0].startswith(f"`{bean}")
    ]

    # When
    found = {re.sub(r"\{.*", "", name) for cell in of_bean for name in re.findall(r"`([^`]+)`", cell)}

    # Then
    assert found - {bean} == KAFKAS[bean]


def test_what_kafka_has_is_mapped_or_it_is_said_why_not() -> None:
    # When
    neither = [
        kafkas
        for kafkas, ours, difference in rows(section("Kafka's metrics of share groups, and kproxy's"))
        if not named_in(ours) and not difference
    ]

    # Then
    assert not neither
