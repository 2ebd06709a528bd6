"""Every block of code in README.md and the pages that it leads to is run by something, as it stands there."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from kproxy.clients.window_strip import GLYPHS
from kproxy.settings import Settings
from tests.deploy.commands import settings_of_run
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.readme_snippets import (
    GUIDES,
    LANGUAGES,
    README,
    RUN_BY,
    beginning_of,
    commands_of,
    guide_commands,
    guides,
    programs_of,
    snippets_of,
    text_of,
    without_comment,
)


def names_something(place: str) -> bool:
    """Whether there is such a file, with such a test when one is named."""
    file, _, test = place.partition("::")
    path = PROJECT_ROOT / file
    if not test:
        return path.is_file()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_block_says_what_it_is() -> None:
    # When
    unknown = [block.text for block in snippets_of(guides()) if block.language not in LANGUAGES]

    # Then
    assert unknown == []


@pytest.mark.parametrize("document", GUIDES)
def test_every_fence_belongs_to_a_block(document: str) -> None:
    # Given
    text = text_of(document)

    # When
    fences = [line for line in text.splitlines() if line.lstrip().startswith(("```", "~~~"))]

    # Then
    assert len(fences) == 2 * len(snippets_of(text))


def test_every_command_is_run_by_something() -> None:
    # When
    commands = guide_commands()

    # Then
    assert commands
    assert [command for command in commands if beginning_of(command) is None] == []


def test_nothing_is_said_to_run_commands_that_are_not_there() -> None:
    assert {beginning_of(command) for command in guide_commands()} == set(RUN_BY)


@pytest.mark.parametrize("place", sorted(set(RUN_BY.values())))
def test_what_runs_commands_exists(place: str) -> None:
    assert names_something(place)


@pytest.mark.parametrize("place", ["tests/packaging/test_wheel.py::test_that_nobody_wrote", ".ci/nothing"])
def test_a_place_that_is_not_there_is_noticed(place: str) -> None:
    assert not names_something(place)


def test_what_continuous_integration_runs_is_what_the_readme_says() -> None:
    # Given
    lines = (PROJECT_ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    # When
    said = [command for command in guide_commands() if RUN_BY[beginning_of(command) or ""] == ".ci/run"]

    # Then
    assert said == ["make demo", "make test"] == list(commands_of(text_of(README))[:2])
    assert [
        command for command in said if not any(f".ci/bare-machine {command}" in line for line in lines)
    ] == []


def test_every_program_is_whole() -> None:
    """A reader can paste it: it parses, and imports what it uses."""
    # When
    trees = [ast.parse(program) for program in programs_of(guides())]

    # Then
    assert trees
    assert all(isinstance(tree.body[0], ast.Import | ast.ImportFrom) for tree in trees)


def test_a_command_over_two_lines_is_one_and_other_blocks_have_none() -> None:
    # Given
    document = "a\n```sh\nx --one \\\n  --two\n\ny # why\n```\n```text\nz\n```\n```python\nimport q\n```\n"

    # When
    commands = commands_of(document)

    # Then
    assert commands == ["x --one   --two", "y # why"]
    assert [block.language for block in snippets_of(document)] == ["sh", "text", "python"]


@pytest.mark.parametrize("command", ["docker run kproxy", "kproxyrun -b x", "make bench"])
def test_a_command_that_nothing_runs_is_noticed(command: str) -> None:
    assert beginning_of(command) is None


def test_the_configuration_of_the_readme_says_where_brokers_are_and_the_defaults(tmp_path: Path) -> None:
    # Given
    [block] = [
        each.text for each in snippets_of(text_of(README)) if each.text.startswith("bootstrap.servers=")
    ]

    # When
    loaded = settings_of_run(["run", "--config", "kproxy.properties"], {}, lambda _: block, tmp_path)

    # Then
    assert loaded.settings == Settings(bootstrap_servers=loaded.settings.bootstrap_servers)


def test_the_strip_of_the_readme_is_drawn_as_kproxy_draws() -> None:
    # Given
    [block] = [
        each.text
        for each in snippets_of(text_of(README))
        if each.text.startswith("$ kproxy in-flight window")
    ]
    command, told, *drawn, legend, first = block.splitlines()

    # When
    rows = [re.match(r" *(\d+)  (.*)", line) for line in drawn]
    cells = Counter(glyph for row in rows if row for glyph in row[2] if glyph in GLYPHS.values())

    # Then: a character is one offset
    counts = {state: int(number) for state, number in re.findall(r"\S (\w+) (\d+)", legend)}
    assert cells == {GLYPHS[state]: number for state, number in counts.items()}
    assert told.startswith(f"{sum(counts.values())} offsets in flight, ")
    assert first.startswith(f"offset {re.findall(r'[0-9]+', told)[1]} blocks the start offset: ")
    assert without_comment(command.removeprefix("$ ")).startswith("kproxy in-flight window -g ")


@pytest.mark.parametrize(
    ("beginning", "page"),
    [
        ("  ✓ Kafka itself refuses", "deploy/DEMO.md"),
        ("$ kproxy why", "deploy/OBSERVING.md"),
    ],
)
def test_an_excerpt_in_the_readme_has_only_lines_of_the_whole(beginning: str, page: str) -> None:
    # Given
    [excerpt] = [each.text for each in snippets_of(text_of(README)) if each.text.startswith(beginning)]
    whole = text_of(page).splitlines()

    # When
    places = [whole.index(line) for line in excerpt.splitlines() if line.strip() != "…"]

    # Then
    assert places == sorted(places)
