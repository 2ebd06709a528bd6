"""deploy/grafana/: every panel asks for what there is, and rows are those of the dashboard of METRICS.md."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deploy.dashboard_files import DASHBOARDS, GRAFANA, Panel, all_panels, dashboard, panels, variables
from tests.deploy.exposed_metrics import faults_of, metrics_of
from tests.deploy.rule_files import CONFIGURATION, DEPLOY, read

METRICS: Final = DEPLOY.parent / "kproxy" / "METRICS.md"
OF_GRAFANA: Final = {"__rate_interval", "__range", "__interval"}


def rows_of_metrics() -> dict[str, set[str]]:
    """The metrics of each row of the dashboard of METRICS.md."""
    text = METRICS.read_text(encoding="utf-8").partition("\n## A dashboard\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ", 1) for line in text.splitlines() if line.startswith("| ")]
    return {row: set(re.findall(r"\b(?:kproxy|process)_\w+\w", told)) for row, told in lines if row != "row"}


def everything_in(value: Any) -> list[str]:
    """Every key and text in a file of JSON."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in [key, *everything_in(item)]]
    if isinstance(value, list):
        return [text for item in value for text in everything_in(item)]
    return [value] if isinstance(value, str) else []


def test_there_is_one_for_share_groups_and_one_for_the_relay() -> None:
    assert [path.stem for path in DASHBOARDS] == ["kproxy-relay", "kproxy-share-groups"]


@pytest.mark.parametrize("panel", all_panels(), ids=lambda panel: panel.title)
def test_a_panel_asks_only_for_metrics_labels_and_values_that_there_are(panel: Panel) -> None:
    # When
    faults = [fault for expression in panel.expressions for fault in faults_of(expression, {})]

    # Then
    assert panel.expressions
    assert faults == []


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_variables_are_declared_used_and_ask_for_what_there_is(path: Path) -> None:
    # Given
    declared = variables(path)

    # When
    used = {
        name
        for text in everything_in(dashboard(path))
        for name in re.findall(r"\$\{?([a-z_]\w*)", text)
        if name not in OF_GRAFANA
    }
    faults = [fault for query in declared.values() for fault in faults_of(query, {})]

    # Then
    assert used - {"__all"} == set(declared)
    assert faults == []


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_asks_the_data_source_that_is_chosen_and_no_fixed_one(path: Path) -> None:
    # When
    sources = re.findall(
        r'"datasource":\s*\{[^}]*"uid":\s*"([^"]*)"', path.read_text(encoding="utf-8"), re.DOTALL
    )

    # Then
    assert set(sources) == {"${datasource}"}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_no_panel_covers_another_and_none_is_wider_than_the_page(path: Path) -> None:
    # Given
    placed = list(panels(path))

    # When
    covered = [
        (one.title, other.title)
        for one, other in combinations(placed, 2)
        if _overlap(one.place[0], one.place[2], other.place[0], other.place[2])
        and _overlap(one.place[1], one.place[3], other.place[1], other.place[3])
    ]

    # Then
    assert not covered
    assert all(column + width <= 24 for column, _, width, _ in (panel.place for panel in placed))


def test_rows_and_their_metrics_are_those_of_the_dashboard_of_metrics_md() -> None:
    # When
    shown: dict[str, set[str]] = {}
    for panel in all_panels():
        metrics = {metric for expression in panel.expressions for metric in metrics_of(expression, {})}
        shown.setdefault(panel.row.lower(), set()).update(metrics)

    # Then
    assert shown == rows_of_metrics()


def test_each_dashboard_has_a_name_of_its_own_for_links() -> None:
    assert len({dashboard(path)["uid"] for path in DASHBOARDS}) == len(DASHBOARDS)


def test_grafana_is_given_a_prometheus_that_scrapes_as_often_as_ours() -> None:
    # Given
    (source,) = read(GRAFANA / "provisioning" / "datasources" / "prometheus.yml")["datasources"]

    # Then
    assert (source["type"], source["isDefault"]) == ("prometheus", True)
    assert source["jsonData"]["timeInterval"] == read(CONFIGURATION)["global"]["scrape_interval"]


def test_grafana_is_told_where_dashboards_are() -> None:
    # Given
    (provider,) = read(GRAFANA / "provisioning" / "dashboards" / "kproxy.yml")["providers"]

    # Then
    assert provider["type"] == "file"
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"


def _overlap(one: int, one_length: int, other: int, other_length: int) -> bool:
    return one < other + other_length and other < one + one_length
