"""deploy/RUNBOOK.md: a section for each alert, and commands that the command line takes as they stand there."""

import re
import shlex
from pathlib import Path
from typing import Final

import click
import pytest

from kproxy.cli.main import cli
from kproxy.handlers.groups import group_config_keys
from kproxy.settings import KEYS
from kproxy.telemetry.metric_table import DECLARATIONS
from tests.deploy.rule_files import DEPLOY, alerts
from tests.deploy.runbook_sections import TEXT, fenced, inline, sections

OF_GROUPS: Final = {group_config_keys.DELIVERY_COUNT_LIMIT, group_config_keys.PARTITION_MAX_RECORD_LOCKS}
OF_TOPICS: Final = {"min.insync.replicas", "retention.ms", "unclean.leader.election.enable"}
OF_STATUS: Final = {"fleet.members", "fleet.moves"}
NUMBERS: Final = {"PARTITION": "0", "OFFSET": "4711", "SLOT": "3"}


def take(line: str) -> None:
    """Give a line to the command line as a shell would, without running it. Raises `click.UsageError`."""
    words = [NUMBERS.get(word, word) for word in shlex.split(line)]
    assert words[0] == "kproxy"
    found: click.Command = cli
    context, rest = click.Context(cli), words[1:]
    while isinstance(found, click.Group) and rest:
        sub = found.get_command(context, rest[0])
        if sub is None:
            raise click.UsageError(f"no command {rest[0]!r} in {line!r}")
        found, context, rest = sub, click.Context(sub, parent=context, info_name=rest[0]), rest[1:]
    if rest or not line.endswith(("delete", "reset-offsets", "log", "doctor")):
        found.make_context(found.name, rest, parent=context.parent)


def test_every_alert_has_a_section_and_every_section_an_alert() -> None:
    assert sorted(sections()) == sorted(alert.name for alert in alerts())


@pytest.mark.parametrize("name", sections())
def test_a_section_says_what_to_run_what_to_do_and_when_it_goes_away(name: str) -> None:
    # Given
    text = sections()[name]

    # Then
    assert fenced(text)
    assert "\n- " in text.partition("```sh")[2]
    assert "\nIt goes away " in text


@pytest.mark.parametrize("line", sorted({*fenced(TEXT), *inline(TEXT)}))
def test_a_command_is_one_that_kproxy_takes(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kproxy.toml").write_text("")

    # Then
    take(line)


@pytest.mark.parametrize("line", ["kproxy wy -g g", "kproxy why --grop g", "kproxy groups", "kproxy log dmp"])
def test_a_command_that_there_is_not_would_be_noticed(line: str) -> None:
    with pytest.raises(click.UsageError):
        take(line)


@pytest.mark.parametrize("name", ["KproxySlotStopped", "KproxyStateLogUnavailable"])
def test_what_a_newer_kproxy_wrote_is_told_from_damage_with_what_to_run_instead(name: str) -> None:
    # When
    (case,) = [each for each in sections()[name].split("\n- ") if each.startswith("A newer kproxy wrote")]

    # Then
    assert "`kproxy_statelog_newer_formats_total`" in case
    assert "run the build that wrote it, or a newer one" in " ".join(case.split())
    assert "(UPGRADING.md#formats)" in case


def test_every_metric_that_is_named_is_there() -> None:
    # When
    named = set(re.findall(r"`(kproxy_[a-z_]+)", TEXT))

    # Then
    assert named <= {metric.exposed_name for metric in DECLARATIONS}


def test_every_alert_that_a_section_names_is_there() -> None:
    # When
    named = set(re.findall(r"\bKproxy[A-Z]\w+", TEXT))

    # Then
    assert named <= {alert.name for alert in alerts()}


def test_every_key_that_is_named_is_there() -> None:
    # When
    named = set(re.findall(r"`([a-z]+(?:\.[a-z]+)+)(?:=\w+)?`", TEXT))

    # Then
    assert {"kproxy.fleet.group", "share.delivery.count.limit"} <= named
    assert named <= {*KEYS, *OF_GROUPS, *OF_TOPICS, *OF_STATUS}


def test_every_link_leads_to_a_file() -> None:
    # When
    links = set(re.findall(r"\]\(([^)#]+)\)", TEXT))

    # Then
    assert {link for link in links if not (DEPLOY / link).is_file()} == set()
