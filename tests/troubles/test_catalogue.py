"""Every alert has a trouble, or is said to have none; and a trouble walks all of its section."""

import pytest

from tests.deploy.rule_files import alerts
from tests.deploy.runbook_sections import fenced, inline, sections
from tests.troubles.catalogue import TROUBLES, UNPLANTED, alert_of

ALERTS = [alert.name for alert in alerts()]


def test_every_alert_has_a_trouble_or_a_reason_why_there_is_none_yet() -> None:
    # When
    planted = {alert_of(name) for name in TROUBLES}

    # Then
    assert sorted([*planted, *UNPLANTED]) == sorted(ALERTS)


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_walks_every_command_that_its_section_says_to_run(name: str) -> None:
    assert list(TROUBLES[name].told) == fenced(sections()[alert_of(name)])


@pytest.mark.parametrize("name", TROUBLES)
def test_a_remedy_is_one_of_its_section(name: str) -> None:
    assert set(TROUBLES[name].remedies) <= set(inline(sections()[alert_of(name)]))


@pytest.mark.parametrize("name", TROUBLES)
def test_what_may_fire_beside_a_trouble_are_other_alerts(name: str) -> None:
    assert TROUBLES[name].beside <= set(ALERTS) - {alert_of(name)}
