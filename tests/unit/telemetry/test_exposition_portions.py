import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from kproxy.telemetry.exposition_portions import SAMPLES_AT_ONCE
from kproxy.telemetry.metrics import Metrics

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
MANY = 4 * SAMPLES_AT_ONCE


def full_metrics() -> Metrics:
    metrics = Metrics(max_series=MANY + 100)
    metrics.register_gauge(
        "share_lag_records", lambda: {(f'group "{number}"\n\\',): number for number in range(MANY)}
    )
    for number in range(MANY):
        metrics.count("requests_refused", number, "Fetch", f"reason {number}")
        metrics.observe("request_duration_seconds", number, f"api {number}")
    return metrics


def test_however_many_series_there_are_a_portion_has_no_more_than_can_be_written_in_a_moment() -> None:
    # When
    _, portions = full_metrics().portions()

    # Then
    assert max(portion.count(b"\n") for portion in portions) <= SAMPLES_AT_ONCE + len(["# HELP", "# TYPE"])


def test_the_portions_together_tell_each_series_once_under_one_head() -> None:
    # When
    families = {
        family.name: family
        for family in text_families(b"".join(full_metrics().portions()[1]).decode())
        if family.name.startswith("kproxy_")
    }

    # Then
    lags = families["kproxy_share_lag_records"]
    assert [sample.value for sample in lags.samples] == list(range(MANY))
    assert lags.samples[7].labels == {"group": 'group "7"\n\\'}
    assert len(families["kproxy_requests_refused"].samples) == MANY
    durations = families["kproxy_request_duration_seconds"].samples
    assert [sample.value for sample in durations if sample.name.endswith("_sum")] == list(range(MANY))


def test_openmetrics_ends_once_and_is_as_its_parser_wants_it() -> None:
    # When
    content_type, portions = full_metrics().portions(OPENMETRICS)
    text = b"".join(portions).decode()

    # Then
    assert content_type.startswith("application/openmetrics-text")
    assert text.count("# EOF") == 1
    families = {family.name: family for family in openmetrics_families(text)}  # type: ignore[no-untyped-call]
    assert len(families["kproxy_share_lag_records"].samples) == MANY


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_a_metric_without_series_is_told_of_all_the_same(accept: str) -> None:
    # When
    _, portions = Metrics().portions(accept)

    # Then
    assert b"# TYPE kproxy_request_duration_seconds histogram\n" in b"".join(portions)


def test_what_is_counted_while_the_portions_are_made_breaks_none_of_them() -> None:
    # Given
    metrics = full_metrics()
    _, portions = metrics.portions()

    # When
    for number, _ in enumerate(portions):
        metrics.count("requests_refused", 1, "Produce", f"new reason {number}")

    # Then
    assert metrics.counted("requests_refused", "Produce", "new reason 0") == 1
