"""A quick Prometheus differs from the shipped one in times, and in nothing else."""

from tests.deploy.rule_files import CONFIGURATION, RULES, alerts, read
from tests.real_kafka.prometheus_process import looking_often, without_waits


def test_nothing_of_a_rule_changes_but_how_long_an_alert_waits() -> None:
    # When
    quick = without_waits(read(RULES))

    # Then
    shipped = [(group["name"], rule) for group in read(RULES)["groups"] for rule in group["rules"]]
    found = [(group["name"], rule) for group in quick["groups"] for rule in group["rules"]]
    for (group, rule), (quick_group, quick_rule) in zip(shipped, found, strict=True):
        assert quick_group == group
        assert {**quick_rule, "for": None} == {**rule, "for": None}
        assert quick_rule.get("for") == ("0s" if "for" in rule else None)
    assert any(alert.wait for alert in alerts())


def test_nothing_of_the_configuration_changes_but_how_often_it_looks() -> None:
    # When
    often = looking_often(read(CONFIGURATION))

    # Then
    assert often["global"] == {"scrape_interval": "1s", "evaluation_interval": "1s"}
    assert {**often, "global": None} == {**read(CONFIGURATION), "global": None}
