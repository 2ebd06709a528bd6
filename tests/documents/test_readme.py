"""README.md, the pages that it leads to, and CHANGELOG.md: all targets, keys, flags, commands and links are there."""

import re
from pathlib import Path
from typing import Final

import click
import pytest

from kproxy.admin.fleet_views import members_by_state
from kproxy.cli.main import COMMANDS, cli
from kproxy.jobs.command_line import job_command
from kproxy.jobs.registry import JOBS
from kproxy.settings import KEYS
from kproxy.statelog.slot_status import SlotState
from kproxy.telemetry.metric_table import DECLARATIONS
from tests.real_kafka.readme_snippets import GUIDES

ROOT: Final = Path(__file__).resolve().parents[2]
DOCUMENTS: Final = (
    *GUIDES,
    "CHANGELOG.md",
    "SECURITY.md",
    "kproxy/ARCHITECTURE.md",
    "kproxy/METRICS.md",
    "deploy/README.md",
    "deploy/LIVENESS.md",
    "deploy/RELEASING.md",
    "deploy/RUNBOOK.md",
    "deploy/UPGRADING.md",
)
MOST_LINES_OF_THE_README: Final = 300
"""It is for those who do not know yet whether they want kproxy; what is longer has a page of its own."""


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def code_of(document: str) -> str:
    """Everything between backticks or in fenced blocks."""
    text = text_of(document)
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return "\n".join([*fenced, *inline])


def code_of_guides() -> str:
    return "\n".join(map(code_of, GUIDES))


def anchors_of(text: str) -> set[str]:
    """The names by which a document's headings are linked to."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def flags_of_commands() -> set[str]:
    context = click.Context(cli)
    commands = [cli, *(command.load() for command in COMMANDS.values())]
    commands += [job_command(name, lazy.purpose, lazy.load()) for name, lazy in JOBS.items()]
    commands += [
        sub
        for group in commands
        if isinstance(group, click.Group) and group is not cli
        for sub in group.commands.values()
    ]
    return {name for command in commands for option in command.get_params(context) for name in option.opts}


def targets_of_makefile() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_is_named_exists(document: str) -> None:
    # When
    named = set(re.findall(r"\bmake ([a-z-]+)", code_of(document)))

    # Then
    assert named <= targets_of_makefile()


def test_every_test_file_that_shows_a_feature_exists() -> None:
    # When
    table = (
        text_of("kproxy/COMPARED.md").partition("\nFeature by feature ")[2].partition("\nNot alike yet")[0]
    )
    named = set(re.findall(r"`(test_\w+)`", table))

    # Then
    assert named
    assert named <= {path.stem for path in (ROOT / "tests" / "kafka").glob("test_*.py")}


def test_the_readme_gives_the_two_commands() -> None:
    assert {"demo", "test"} <= set(re.findall(r"\bmake ([a-z-]+)", code_of("README.md")))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_configuration_key_that_is_named_exists(document: str) -> None:
    # When
    named = set(
        re.findall(
            r"(?<![\w./])((?:kproxy|group\.share|upstream)(?:\.[a-z]+)+)(?![\w*(.])", code_of(document)
        )
    )

    # Then
    modules = {
        name
        for name in named
        if (ROOT / name.replace(".", "/")).with_suffix(".py").exists()
        or (ROOT / name.replace(".", "/")).is_dir()
    }
    files = {name for name in named if name.endswith((".py", ".toml", ".properties", ".md"))}
    assert named - modules - files <= set(KEYS)


def test_every_metric_and_state_that_an_alert_names_exists() -> None:
    # When
    code = code_of("deploy/README.md")
    metrics, states = set(re.findall(r"\bkproxy_\w+", code)), set(re.findall(r'state="([a-z-]+)"', code))

    # Then
    assert metrics
    assert metrics <= {declaration.exposed_name for declaration in DECLARATIONS}
    assert states <= {state.value for state in SlotState} | {state for (state,) in members_by_state(None)}


def test_every_command_of_kproxy_that_is_named_exists() -> None:
    # When
    named = set(re.findall(r"^(?:\S+/)?kproxy ([a-z][a-z-]*)", code_of_guides(), re.MULTILINE))

    # Then
    assert named
    assert named <= set(COMMANDS)


def test_every_flag_of_kproxy_that_is_named_exists() -> None:
    # Given
    lines = [line for line in code_of_guides().splitlines() if re.match(r"(?:\S+/)?kproxy |--?\w", line)]

    # When
    named = {flag for line in lines for flag in re.findall(r"(?<!\S)(--?[A-Za-z][\w-]*)", line)}

    # Then
    assert named - {"--alter", "--add-config"} <= flags_of_commands()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_to_a_file_leads_somewhere(document: str) -> None:
    # When
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text_of(document))

    # Then
    assert [target for target in targets if not (ROOT / document).parent.joinpath(target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_to_a_heading_leads_to_one(document: str) -> None:
    # When
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", text_of(document))

    # Then
    folder = (ROOT / document).parent
    assert [
        (target, anchor)
        for target, anchor in links
        if anchor
        not in anchors_of((folder / target if target else ROOT / document).read_text(encoding="utf-8"))
    ] == []


def test_every_page_is_reached_from_the_readme() -> None:
    # When
    linked = set(re.findall(r"\]\((?!https?:|#)([^)#]+)", text_of("README.md")))

    # Then
    assert set(DOCUMENTS) - {"README.md"} <= linked


def test_the_readme_stays_short() -> None:
    assert len(text_of("README.md").splitlines()) <= MOST_LINES_OF_THE_README


def test_the_changelog_begins_with_what_is_not_released_yet() -> None:
    # When
    headings = re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)

    # Then
    assert headings
    assert headings[0].strip("[]") == "Unreleased"
