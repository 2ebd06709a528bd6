"""What deploy/ watches kproxy with, on a fleet: Prometheus scrapes as shipped, answers panels, and raises alerts."""

import http.client
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.deploy.dashboard_files import all_panels
from tests.real_kafka.administration import create_topic, unique_name
from tests.real_kafka.kproxy_fleet import KproxyFleet, kproxy_fleet
from tests.real_kafka.kproxy_process import HTTP_TIMEOUT_SECONDS, KproxyProcess
from tests.real_kafka.prometheus_process import PrometheusProcess, prometheus
from tests.real_kafka.session_clusters import ClusterOfSession
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import ConfluentShareMember
from tests.real_kafka.steady_production import SteadyProduction

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

PATIENCE_SECONDS: Final = 240.0
BETWEEN_LOOKS_SECONDS: Final = 5.0
CHOSEN: Final = {"fleet": ".*", "group": ".*", "instance": ".*", "__rate_interval": "1m"}
"""What Grafana puts in the place of variables when everything is chosen."""

Query = tuple[str, str]


@pytest.fixture
def program() -> Path:
    found = prometheus()
    if found is None:
        pytest.skip("Prometheus is not installed: apt-get install --no-install-recommends prometheus")
    return found


@pytest.fixture
def fleet(program: Path, kafka_cluster: ClusterOfSession) -> Iterator[KproxyFleet]:
    with kproxy_fleet(kafka_cluster(), 2) as running:
        yield running


@pytest.fixture
def watching(program: Path, fleet: KproxyFleet) -> Iterator[PrometheusProcess]:
    targets = [kproxy.admin_url.removeprefix("http://") for kproxy in fleet.kproxies]
    with PrometheusProcess(program, targets) as running:
        yield running


def queries() -> set[Query]:
    """Every query of every panel, as Grafana asks it, with the panel's title."""
    return {(panel.title, chosen(expression)) for panel in all_panels() for expression in panel.expressions}


def chosen(expression: str) -> str:
    return re.sub(r"\$(\w+)", lambda variable: CHOSEN[variable[1]], expression)


def is_answered(watching: PrometheusProcess, expression: str) -> bool:
    """Whether there is a number: percentiles of nothing are none."""
    return any(not math.isnan(float(series["value"][1])) for series in watching.ask(expression))


def work(fleet: KproxyFleet, topic: str, *, seconds: float) -> None:
    """Let a new group work for a while at the process that does not serve it, and another one hold what it gets."""
    served, other = fleet.kproxies
    group, holding = fleet.new_group_of(served), fleet.new_group_of(other)
    end = time.monotonic() + seconds
    with (
        ConfluentShareMember(other.bootstrap_servers, group=group, topics=[topic]) as member,
        ConfluentShareMember(other.bootstrap_servers, group=holding, topics=[topic]) as holder,
    ):
        member.poll_until_records()
        holder.poll_until_records()
        while time.monotonic() < end:
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            member.poll()
        member.acknowledge_all(AcknowledgeType.ACCEPT)


def ask_by_a_foreign_name(kproxy: KproxyProcess) -> int:
    """What a page gets that has made a name of its own lead to the admin port: the status."""
    connection = http.client.HTTPConnection(
        kproxy.admin_url.removeprefix("http://"), timeout=HTTP_TIMEOUT_SECONDS
    )
    connection.request("GET", "/api/v1/status", headers={"Host": "elsewhere.example"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_every_query_of_every_panel_is_answered_with_data_and_no_alert_fires(
    fleet: KproxyFleet, watching: PrometheusProcess
) -> None:
    # Given
    topic = unique_name("watched")
    create_topic(fleet.cluster.bootstrap_servers, topic)
    deadline = time.monotonic() + PATIENCE_SECONDS
    unanswered = queries()

    # When
    with SteadyProduction(fleet.kproxies[0].bootstrap_servers, [(topic, 0)]):
        while unanswered and time.monotonic() < deadline:
            work(fleet, topic, seconds=BETWEEN_LOOKS_SECONDS)
            if watching.is_answering():
                unanswered = {query for query in unanswered if not is_answered(watching, query[1])}

    # Then
    assert unanswered == set()
    assert {rule["name"] for rule in watching.rules() if rule["health"] != "ok"} == set()
    assert watching.firing() == set()


def test_troubles_raise_their_alerts_and_no_others(fleet: KproxyFleet, watching: PrometheusProcess) -> None:
    # Given
    watching.wait_until_scraped(2, timeout_seconds=PATIENCE_SECONDS)
    troubles = {"KproxyAdminPortProbed", "KproxyDown"}
    staying, killed = fleet.kproxies

    # When
    refused = ask_by_a_foreign_name(staying)
    killed.kill()
    fired = watching.fired_until(troubles, timeout_seconds=PATIENCE_SECONDS)

    # Then
    assert refused == http.client.FORBIDDEN
    assert fired == troubles
