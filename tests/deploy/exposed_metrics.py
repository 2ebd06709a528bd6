"""What `/metrics` tells, by the names that Prometheus sees, to hold expressions against."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.utils import floatToGoString

from kproxy.admin.fleet_views import members_by_state
from kproxy.handlers.live.share_counters import EVENTS
from kproxy.statelog.slot_status import SlotState
from kproxy.telemetry.metric_declaration import MetricDeclaration, MetricKind
from kproxy.telemetry.metric_table import DECLARATIONS
from tests.deploy.promql import Matcher, Selector, label_list, made_labels, selectors

TARGET_LABELS: Final = frozenset({"job", "instance", "fleet"})
"""What Prometheus adds: `fleet` by prometheus.yml and podmonitor.yaml."""

_OF_PROCESS: Final = ("process_resident_memory_bytes", "process_cpu_seconds_total")
_PARTS: Final = ("_bucket", "_sum", "_count")
_WORDS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("kproxy_statelog_slots", "state"): frozenset(state.value for state in SlotState),
    ("kproxy_fleet_members", "state"): frozenset(state for (state,) in members_by_state(None)),
    ("kproxy_share_group_records_total", "event"): frozenset(EVENTS),
    ("kproxy_requests_refused_total", "reason"): frozenset({"internal_error"}),
}
"""Label values of metrics whose declaration does not know them."""


@dataclass(frozen=True, slots=True)
class ExposedSeries:
    """A name on `/metrics`: its labels, what they can be where that is known, and the metric that it is of."""

    metric: str
    labels: frozenset[str]
    words: Mapping[str, frozenset[str]]


def _series() -> Iterator[tuple[str, ExposedSeries]]:
    yield "up", ExposedSeries("up", frozenset(), {})
    for name in _OF_PROCESS:
        yield name, ExposedSeries(name, frozenset(), {})
    for metric in DECLARATIONS:
        series = ExposedSeries(metric.exposed_name, frozenset(metric.labels), _words_of(metric))
        if metric.kind is not MetricKind.HISTOGRAM:
            yield metric.exposed_name, series
            continue
        for part in _PARTS:
            yield f"{metric.exposed_name}{part}", series if part != "_bucket" else _with_ends(series, metric)


def _words_of(metric: MetricDeclaration) -> Mapping[str, frozenset[str]]:
    declared = {
        label: frozenset(values[place] for values in metric.initial)
        for place, label in enumerate(metric.labels)
        if metric.initial
    }
    return declared | {label: words for (name, label), words in _WORDS.items() if name == metric.exposed_name}


def _with_ends(series: ExposedSeries, metric: MetricDeclaration) -> ExposedSeries:
    ends = frozenset({*map(floatToGoString, metric.buckets), "+Inf"})
    return ExposedSeries(series.metric, series.labels | {"le"}, {**series.words, "le": ends})


EXPOSED: Final[Mapping[str, ExposedSeries]] = dict(_series())
"""Every series by its name."""


def faults_of(expression: str, recorded: Mapping[str, frozenset[str]]) -> list[str]:
    """Return what `expression` names that is not there; `recorded` are the labels of recorded series by their name."""
    faults = []
    known = set(TARGET_LABELS)
    for selector in selectors(expression):
        labels = _labels_of(selector, recorded)
        if labels is None:
            faults.append(f"{selector.name} does not exist")
            continue
        known |= labels
        for matcher in selector.matchers:
            faults += _faults_of_matcher(selector, matcher, labels)
    unknown = label_list(expression) - made_labels(expression) - known
    return faults + [f"no metric of it has the label {label}" for label in sorted(unknown)]


def metrics_of(expression: str, recorded: Mapping[str, str]) -> set[str]:
    """Return the metrics that `expression` looks at, by their declared names; `recorded` are expressions by name."""
    found = set()
    for selector in selectors(expression):
        if selector.name in recorded:
            found |= metrics_of(recorded[selector.name], recorded)
        else:
            found.add(EXPOSED[selector.name].metric)
    return found


def _labels_of(selector: Selector, recorded: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
    if selector.name in recorded:
        return recorded[selector.name]
    return EXPOSED[selector.name].labels if selector.name in EXPOSED else None


def _faults_of_matcher(selector: Selector, matcher: Matcher, labels: frozenset[str]) -> list[str]:
    if matcher.label in TARGET_LABELS:
        return []
    if matcher.label not in labels:
        return [f"{selector.name} has no label {matcher.label}"]
    words = EXPOSED[selector.name].words.get(matcher.label) if selector.name in EXPOSED else None
    if words is None:
        return []
    return [
        f"{matcher.label} of {selector.name} is never {word}" for word in matcher.words if word not in words
    ]
