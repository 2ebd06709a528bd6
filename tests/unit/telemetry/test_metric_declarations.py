"""What a metric is called."""

from kproxy.telemetry.metric_declarations import MetricDeclaration, MetricKind


def test_a_counter_ends_in_total_as_prometheus_has_it() -> None:
    counter = MetricDeclaration("peer_bytes", MetricKind.COUNTER, "Bytes.")
    gauge = MetricDeclaration("share_groups", MetricKind.GAUGE, "Groups.")

    assert (counter.exposed_name, gauge.exposed_name) == ("kproxy_peer_bytes_total", "kproxy_share_groups")
