"""The ground that all troubles of a session share, started when the first one asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_fleet import kproxy_fleet
from tests.real_kafka.prometheus_process import prometheus
from tests.troubles.ground import QUICK, WITH_AN_AUTHORIZER, Ground
from tests.troubles.wall import HOST


@pytest.fixture(scope="session")
def program() -> Path:
    found = prometheus()
    if found is None:
        pytest.skip("Prometheus is not installed: apt-get install --no-install-recommends prometheus")
    return found


@pytest.fixture(scope="session")
def ground(program: Path) -> Iterator[Ground]:
    with (
        KafkaCluster(proxied_host=HOST, broker_settings=WITH_AN_AUTHORIZER) as cluster,
        kproxy_fleet(cluster, 2, settings=QUICK) as fleet,
    ):
        yield Ground(cluster, fleet)
