"""kproxy/ARCHITECTURE.md: every pitfall of Kafka proxies stands there once, with tests that exist or with a reason."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
ARCHITECTURE: Final = ROOT / "kproxy" / "ARCHITECTURE.md"
HEADING: Final = "## Pitfalls of Kafka proxies, and where each is tested"
PITFALLS: Final = 85
NOT_APPLICABLE: Final = "does not apply"

Row = tuple[int, str]
"""The number of a pitfall, and what the last column says of it."""


def rows_of(text: str) -> list[Row]:
    section = text.partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    return [
        (int(number), tested.strip())
        for number, tested in re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+)\|$", section, re.MULTILINE)
    ]


def rows() -> list[Row]:
    return rows_of(ARCHITECTURE.read_text(encoding="utf-8"))


def named_tests(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def exists(test: str) -> bool:
    """Whether there is such a test file, with such a test function when one is named."""
    file, _, function = test.partition("::")
    path = ROOT / file
    if not (path.is_file() and path.is_relative_to(ROOT / "tests") and path.name.startswith("test_")):
        return False
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return not function or (function.startswith("test_") and function in functions)


def test_every_pitfall_stands_in_the_table_once_and_in_order() -> None:
    # When
    numbers = [number for number, _ in rows()]

    # Then
    assert numbers == list(range(1, PITFALLS + 1))


def test_every_pitfall_is_tested_or_says_why_it_does_not_apply() -> None:
    # When
    neither = [
        number for number, tested in rows() if bool(named_tests(tested)) is tested.startswith(NOT_APPLICABLE)
    ]

    # Then
    assert neither == []


def test_every_test_that_is_named_exists() -> None:
    # When
    missing = [
        (number, test) for number, tested in rows() for test in named_tests(tested) if not exists(test)
    ]

    # Then
    assert missing == []


@pytest.mark.parametrize(
    "test",
    [
        "tests/documents/test_pitfalls_of_nobody.py",
        "tests/documents/test_pitfalls.py::test_that_nobody_wrote",
        "tests/documents/test_pitfalls.py::rows",
        "kproxy/application/proxy.py",
    ],
)
def test_what_is_no_test_is_noticed(test: str) -> None:
    assert not exists(test)


def test_a_row_is_read_with_its_number_and_its_tests() -> None:
    # Given
    row = "| 7 | what | `t.py::test_x`, `u.py` |\n"
    document = f"{HEADING}\n\n| | pitfall | tested in |\n|---|---|---|\n{row}\n## Next\n{row}"

    # When
    [(number, tested)] = rows_of(document)

    # Then
    assert number == 7
    assert named_tests(tested) == ["t.py::test_x", "u.py"]
