"""Every block of code in README.md is run by something, as it stands there."""

import ast

import pytest

from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.readme_snippets import (
    LANGUAGES,
    RUN_BY,
    beginning_of,
    commands_of,
    readme,
    readme_programs,
    snippets_of,
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
    unknown = [block.text for block in snippets_of(readme()) if block.language not in LANGUAGES]

    # Then
    assert unknown == []


def test_every_fence_belongs_to_a_block() -> None:
    # When
    fences = [line for line in readme().splitlines() if line.lstrip().startswith(("```", "~~~"))]

    # Then
    assert len(fences) == 2 * len(snippets_of(readme()))


def test_every_command_is_run_by_something() -> None:
    # When
    commands = commands_of(readme())

    # Then
    assert commands
    assert [command for command in commands if beginning_of(command) is None] == []


def test_nothing_is_said_to_run_commands_that_are_not_there() -> None:
    assert {beginning_of(command) for command in commands_of(readme())} == set(RUN_BY)


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
    said = [command for command in commands_of(readme()) if RUN_BY[beginning_of(command) or ""] == ".ci/run"]

    # Then
    assert said == ["make demo", "make test"]
    assert [
        command for command in said if not any(f".ci/bare-machine {command}" in line for line in lines)
    ] == []


def test_every_program_is_whole() -> None:
    """A reader can paste it: it parses, and imports what it uses."""
    # When
    trees = [ast.parse(program) for program in readme_programs()]

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
