"""CHANGELOG.md is in the form that deploy/RELEASING.md tells maintainers to keep."""

import re
from pathlib import Path
from typing import Final

from kproxy import __version__

ROOT: Final = Path(__file__).resolve().parents[2]
CHANGELOG: Final = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS: Final = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
"""Of Keep a Changelog."""


def versions() -> list[tuple[int, ...]]:
    """Every released version that the changelog has, in its order."""
    return [
        tuple(map(int, name.split(".")))
        for name in re.findall(r"^## (\d+\.\d+\.\d+) ", CHANGELOG, re.MULTILINE)
    ]


def test_what_is_not_released_comes_first_and_releases_have_dates() -> None:
    # When
    first, *released = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)

    # Then
    assert first == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", heading) for heading in released)


def test_every_entry_stands_below_a_heading_of_keep_a_changelog() -> None:
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= SECTIONS


def test_the_newest_release_comes_first_and_the_version_is_that_or_a_later_one() -> None:
    # When
    released = versions()

    # Then
    assert released == sorted(released, reverse=True)
    assert tuple(map(int, re.findall(r"\d+", __version__))) >= max(released, default=(0,))
