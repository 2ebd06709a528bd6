"""Pages of deploy/ that say which tests hold something: the tests exist, and so does what they say of kproxy."""

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = ("LIVENESS.md", "RELEASING.md", "SECURING.md", "UPGRADING.md")


def text_of(page: str) -> str:
    return (ROOT / "deploy" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    # When
    named = set(re.findall(r"`((?:tests|deploy|kproxy|\.github)/[\w./-]+\.\w+)`", text_of(page)))

    # Then
    assert {name for name in named if not (ROOT / name).is_file()} == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_is_in_a_file_that_is_named(page: str) -> None:
    # Given
    text = text_of(page)
    files = [ROOT / name for name in re.findall(r"`(tests/[\w./-]+\.py)`", text)]
    there = "\n".join(file.read_text(encoding="utf-8") for file in files)

    # When
    named = set(re.findall(r"`(test_[a-z_0-9]{20,})`", text))

    # Then
    assert {name for name in named if f"def {name}(" not in there} == set()


def test_the_checks_of_readiness_that_liveness_speaks_of_exist() -> None:
    # Given
    checks = set(re.findall(r'"(\w+)": self\._check_', (ROOT / "kproxy/application/vitals.py").read_text()))

    # When
    named = set(re.findall(r"\| 503, `(\w+)` \|", text_of("LIVENESS.md")))

    # Then
    assert named == checks
