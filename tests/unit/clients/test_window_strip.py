"""A strip has a character for every offset, or for as many as a row must hold."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kproxy.clients.admin_port import Item
from kproxy.clients.window_strip import GLYPHS, PLAIN_GLYPHS, Cell, strip_of, tries_glyph


def run(first: int, last: int, state: str, deliveries: int = 1, remaining_ms: int | None = None) -> Item:
    return {
        "firstOffset": first,
        "lastOffset": last,
        "state": state,
        "deliveryCount": deliveries,
        "lockRemainingMs": remaining_ms,
    }


@st.composite
def windows(draw: st.DrawFn) -> list[Item]:
    """Runs without a gap."""
    start, runs = draw(st.integers(0, 2**40)), []
    for length in draw(st.lists(st.integers(1, 500), min_size=1, max_size=12)):
        state = draw(st.sampled_from(["Acquired", "Available", "Acknowledged", "Archived"]))
        remaining_ms = draw(st.sampled_from([0, 5_000])) if state == "Acquired" else None
        runs.append(run(start, start + length - 1, state, draw(st.integers(1, 5)), remaining_ms))
        start += length
    return runs


@given(windows(), st.integers(1, 40), st.integers(1, 5))
def test_a_strip_fits_its_rows_and_counts_every_offset(runs: list[Item], width: int, most_rows: int) -> None:
    # When
    strip = strip_of(runs, width=width, most_rows=most_rows)

    # Then
    offsets = runs[-1]["lastOffset"] + 1 - runs[0]["firstOffset"]
    assert len(strip.rows) <= most_rows
    assert all(len(row) <= width for row in strip.rows)
    assert sum(map(len, strip.rows)) == -(-offsets // strip.offsets_per_cell)
    assert sum(strip.counts.values()) == offsets


@given(windows())
def test_where_a_cell_is_an_offset_it_shows_that_offset(runs: list[Item]) -> None:
    # When
    strip = strip_of(runs, width=10_000, most_rows=1)

    # Then
    shown: list[Any] = [cell for row in strip.rows for cell in row]
    expected = [
        Cell("Overdue" if each["lockRemainingMs"] == 0 else each["state"], each["deliveryCount"])
        for each in runs
        for _ in range(each["firstOffset"], each["lastOffset"] + 1)
    ]
    assert shown == expected


def test_of_several_offsets_a_cell_shows_what_somebody_waits_for() -> None:
    # Given
    runs = [run(0, 98, "Acknowledged"), run(99, 99, "Acquired", 3, 5_000)]

    # When
    strip = strip_of(runs, width=1, most_rows=1)

    # Then
    assert strip.rows == [[Cell("Acquired", 3)]]


def test_without_records_in_flight_there_is_nothing_to_draw() -> None:
    assert strip_of([], width=10, most_rows=1).rows == ()


def test_every_state_has_a_character_of_its_own() -> None:
    assert len(set(GLYPHS.values())) == len(set(PLAIN_GLYPHS.values())) == len(GLYPHS)
    assert all(glyph.isascii() for glyph in PLAIN_GLYPHS.values())


def test_beneath_a_cell_stands_how_often_it_was_tried_again() -> None:
    cells = [Cell("Acquired", 1), Cell("Available", 3), Cell("Overdue", 10), Cell("Acknowledged", 3)]
    assert "".join(map(tries_glyph, cells)) == " 3+ "
