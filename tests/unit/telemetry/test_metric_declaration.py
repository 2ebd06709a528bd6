import pytest

from kproxy.telemetry.metric_declaration import MetricDeclaration, MetricKind


@pytest.mark.parametrize(
    ("kind", "exposed"),
    [
        (MetricKind.COUNTER, "kproxy_fleet_maps_total"),
        (MetricKind.GAUGE, "kproxy_fleet_maps"),
        (MetricKind.HISTOGRAM, "kproxy_fleet_maps"),
    ],
)
def test_prometheus_sees_the_name_that_its_kind_asks_for(kind: MetricKind, exposed: str) -> None:
    assert MetricDeclaration("fleet_maps", kind, "Maps.").exposed_name == exposed
