"""The matrix of kproxy/TESTED.md is that of the compatibility tests: every client and cluster, and nothing failed."""

from pathlib import Path
from typing import Final

from tests.compatibility.backings import BACKINGS
from tests.compatibility.matrix import headings, row_names, table_between_markers
from tests.compatibility.roster import CLIENTS

TESTED: Final = Path(__file__).resolve().parents[2] / "kproxy" / "TESTED.md"


def test_the_page_shows_the_clusters_and_the_clients_that_are_run() -> None:
    # When
    first_line, *lines = table_between_markers(TESTED.read_text(encoding="utf-8"))

    # Then
    assert first_line == headings()
    assert [line[0] for line in lines] == row_names()


def test_the_page_shows_that_every_scenario_passed() -> None:
    # When
    _, *lines = table_between_markers(TESTED.read_text(encoding="utf-8"))

    # Then
    counts = [[len(client.scenarios_on(backing)) for backing in BACKINGS] for client in CLIENTS]
    assert [line[1:] for line in lines] == [[f"{count} of {count}" for count in row] for row in counts]
