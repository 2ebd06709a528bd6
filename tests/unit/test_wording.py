"""A count and its noun agree wherever somebody reads them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kproxy.wording import counted

ROOT: Final = Path(__file__).resolve().parents[2]
READ_BY_PEOPLE: Final = (ROOT / "kproxy", ROOT / "tests" / "kafka" / "__main__.py")
"""Where messages are made for those who use kproxy, or a cluster to try it on."""

BARE_PLURAL: Final = re.compile(
    r" (?:(?:more|open|live|share|log|acknowledge|state) )*"
    r"(?:[a-z]+-)?(?:acknowledgements|answers|batches|brokers|bytes|claims|coordinators|differences|elements|errors"
    r"|groups|headers|members|offsets|operations|partitions|problems|reasons|records|replicas|rows|sessions|tags|times"
    r"|topics|violations)\b"
)
"""What may stand behind a number, and is wrong behind 1."""


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 brokers"), (1, "1 broker"), (2, "2 brokers"), (1_000, "1000 brokers")]
)
def test_a_count_says_its_noun_in_the_right_number(count: int, words: str) -> None:
    assert counted(count, "broker") == words


def test_no_message_puts_a_plural_behind_a_number_that_may_be_one() -> None:
    # When
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in _sources()
        for line, text in _bare_plurals(path)
    ]

    # Then
    assert found == []


@pytest.mark.parametrize(
    ("message", "is_bare"),
    [
        ("{count} brokers", True),
        ("{len(sessions)} share sessions are open", True),
        ("{count:,} records", True),
        ("{MOST_BYTES} bytes at most", False),
        ("{counted(count, 'broker')} and no more", False),
        ("{name} has partitions", False),
    ],
)
def test_a_bare_plural_is_told_from_what_agrees(message: str, *, is_bare: bool, tmp_path: Path) -> None:
    # Given
    source = tmp_path / "message.py"
    source.write_text(f'message = f"{message}"\n')

    # When
    found = list(_bare_plurals(source))

    # Then
    assert bool(found) is is_bare


def _sources() -> Iterator[Path]:
    for place in READ_BY_PEOPLE:
        yield from [place] if place.is_file() else sorted(place.rglob("*.py"))


def _bare_plurals(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, behind in zip(node.values, node.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(behind, ast.Constant):
                continue
            if not _is_limit(value.value) and BARE_PLURAL.match(str(behind.value)):
                yield node.lineno, str(behind.value)


def _is_limit(value: ast.expr) -> bool:
    """Whether this is a constant of the source, which is more than 1."""
    return isinstance(value, ast.Name) and value.id.isupper()
