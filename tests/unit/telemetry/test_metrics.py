import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from kproxy.telemetry.metrics import Metrics


def exposed(metrics: Metrics) -> dict[str, float]:
    """Every sample of kproxy's own metrics as `name{label=value,…}`, labels in alphabetical order."""
    samples: dict[str, float] = {}
    for family in text_string_to_metric_families(metrics.exposition().body.decode()):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            samples[f"{sample.name}{{{labels}}}"] = sample.value
    return {name: value for name, value in samples.items() if name.startswith("kproxy_")}


def test_counters_and_known_label_sets_stand_at_zero_before_anything_happens() -> None:
    # When
    samples = exposed(Metrics())

    # Then
    assert samples["kproxy_keepalives_total{}"] == 0
    assert samples["kproxy_connections_total{side=client}"] == 0
    assert samples["kproxy_share_deliveries_total{first=false}"] == 0
    assert not any(name.startswith("kproxy_requests_total") for name in samples)


def test_what_is_counted_adds_up_under_its_labels() -> None:
    # Given
    metrics = Metrics()
    metrics.count("requests", 1, "PRODUCE", "9", "forward")
    metrics.count("requests", 2, "PRODUCE", "9", "forward")
    metrics.count("requests", 5, "FETCH", "12", "forward")
    metrics.count("keepalives")

    # When
    samples = exposed(metrics)

    # Then
    assert samples["kproxy_requests_total{api=PRODUCE,disposition=forward,version=9}"] == 3
    assert samples["kproxy_requests_total{api=FETCH,disposition=forward,version=12}"] == 5
    assert samples["kproxy_keepalives_total{}"] == 1


def test_what_was_counted_can_be_read_back() -> None:
    # Given
    metrics = Metrics()
    metrics.count("connection_errors", 2, "client", "tls_on_plaintext_port")

    # When
    counted = metrics.counted("connection_errors", "client", "tls_on_plaintext_port")

    # Then
    assert counted == 2
    assert metrics.counted("connection_errors", "client", "nothing_of_the_kind") == 0


@given(
    reasons=st.lists(st.text(alphabet="abcdef", min_size=1, max_size=3), max_size=60),
    max_series=st.integers(1, 10),
)
def test_a_label_that_grows_without_end_is_bounded_and_no_count_is_lost(
    reasons: list[str], max_series: int
) -> None:
    # Given
    metrics = Metrics(max_series)

    # When
    for reason in reasons:
        metrics.count("requests_refused", 1, "FETCH", reason)

    # Then
    samples = {
        name: value for name, value in exposed(metrics).items() if name.startswith("kproxy_requests_refused")
    }
    distinct = list(dict.fromkeys(reasons))
    kept, beyond = distinct[:max_series], distinct[max_series:]
    dropped = sum(reasons.count(reason) for reason in beyond)
    assert sum(samples.values()) == len(reasons)
    assert len(samples) == len(kept) + bool(beyond)
    assert samples.get("kproxy_requests_refused_total{api=other,reason=other}", 0) == dropped
    assert metrics.counted("metrics_dropped_series", "requests_refused") == dropped


def test_a_gauge_is_read_when_it_is_scraped() -> None:
    # Given
    metrics = Metrics()
    sessions: list[str] = []
    metrics.register_gauge("share_sessions", lambda: len(sessions))
    sessions.append("a member's")

    # When
    samples = exposed(metrics)

    # Then
    assert samples["kproxy_share_sessions{}"] == 1


def test_a_gauge_with_labels_is_read_as_a_whole() -> None:
    # Given
    metrics = Metrics()
    metrics.register_gauge("connections_open", lambda: {("client",): 3, ("broker",): 4})

    # When
    samples = exposed(metrics)

    # Then
    assert samples["kproxy_connections_open{side=client}"] == 3
    assert samples["kproxy_connections_open{side=broker}"] == 4


def test_a_gauge_that_nobody_registered_is_not_exposed() -> None:
    assert not any(name.startswith("kproxy_share_groups") for name in exposed(Metrics()))


def test_a_gauge_with_too_many_label_sets_is_cut_and_says_so() -> None:
    # Given
    metrics = Metrics(max_series=2)
    metrics.register_gauge("share_groups", lambda: {(state,): 1 for state in ("Empty", "Stable", "Dead")})

    # When
    samples = exposed(metrics)

    # Then
    assert [name for name in samples if name.startswith("kproxy_share_groups")] == [
        "kproxy_share_groups{state=Empty}",
        "kproxy_share_groups{state=Stable}",
    ]
    assert metrics.counted("metrics_dropped_series", "share_groups") == 1


def test_a_histogram_counts_each_observation_in_its_bucket_and_all_above() -> None:
    # Given
    metrics = Metrics()
    for seconds in (0.001, 0.002, 0.5, 60.0):
        metrics.observe("request_duration_seconds", seconds, "FETCH")

    # When
    samples = exposed(metrics)

    # Then
    bucket = "kproxy_request_duration_seconds_bucket{{api=FETCH,le={}}}".format
    assert samples[bucket("0.001")] == 1
    assert samples[bucket("0.005")] == 2
    assert samples[bucket("0.1")] == 2
    assert samples[bucket("0.5")] == 3
    assert samples[bucket("30.0")] == 3
    assert samples[bucket("+Inf")] == 4
    assert samples["kproxy_request_duration_seconds_count{api=FETCH}"] == 4
    assert samples["kproxy_request_duration_seconds_sum{api=FETCH}"] == pytest.approx(60.503)


def test_a_histogram_is_bounded_as_well() -> None:
    # Given
    metrics = Metrics(max_series=1)
    for api in ("FETCH", "PRODUCE", "METADATA"):
        metrics.observe("request_duration_seconds", 0.1, api)

    # When
    samples = exposed(metrics)

    # Then
    assert samples["kproxy_request_duration_seconds_count{api=FETCH}"] == 1
    assert samples["kproxy_request_duration_seconds_count{api=other}"] == 2


def test_an_undeclared_counter_is_a_broken_invariant() -> None:
    with pytest.raises(AssertionError, match="metric 'retries' is not declared"):
        Metrics().count("retries")


def test_a_gauge_is_not_counted() -> None:
    with pytest.raises(AssertionError, match="metric 'share_sessions' is a gauge, not a counter"):
        Metrics().count("share_sessions")


def test_another_number_of_labels_than_declared_is_a_broken_invariant() -> None:
    with pytest.raises(AssertionError, match="metric 'share_archived' has the labels"):
        Metrics().count("share_archived", 1, "limit", "orders")


def test_a_gauge_is_registered_once() -> None:
    # Given
    metrics = Metrics()
    metrics.register_gauge("share_sessions", lambda: 0)

    # When
    with pytest.raises(AssertionError, match="gauge 'share_sessions' is registered twice"):
        metrics.register_gauge("share_sessions", lambda: 1)


def test_a_scraper_that_asks_for_openmetrics_gets_it() -> None:
    # When
    exposition = Metrics().exposition("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")

    # Then
    assert exposition.content_type.startswith("application/openmetrics-text")
    assert exposition.body.endswith(b"# EOF\n")


def test_the_process_itself_is_measured() -> None:
    assert b"process_resident_memory_bytes" in Metrics().exposition().body


def test_a_counter_that_somebody_else_counts_is_read_when_it_is_scraped() -> None:
    # Given
    metrics = Metrics()
    waits: dict[tuple[str, ...], int] = {("busy",): 1, ("full",): 0}
    metrics.register_counter("share_read_turn_waits", lambda: waits)
    metrics.register_counter("share_rebalances", lambda: 7)
    waits[("full",)] = 3

    # When
    samples = exposed(metrics)

    # Then
    assert samples["kproxy_share_read_turn_waits_total{reason=busy}"] == 1
    assert samples["kproxy_share_read_turn_waits_total{reason=full}"] == 3
    assert samples["kproxy_share_rebalances_total{}"] == 7
