"""The pure modules of the web view, run by Node: they say what the command line says."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from kproxy.cli.ages import age_text
from kproxy.clients.admin_port import Item
from kproxy.clients.top.group_rows import GroupsLook, rows_of
from kproxy.clients.window_strip import GLYPHS, strip_of
from tests.compatibility.kafkajs_packages import node

MODULES: Final = Path(__file__).resolve().parents[2] / "kproxy" / "admin" / "ui" / "static"


def said(module: str, expression: str, given: object = None) -> Any:
    """What an expression is with all that a module exports, `given` being what it is."""
    names = f"const m = await import({json.dumps((MODULES / module).as_uri())}); "
    script = f"{names}const given = {json.dumps(given)}; console.log(JSON.stringify({expression}));"
    ended = subprocess.run(
        [node(), "--no-warnings", "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_ages_are_those_of_the_command_line() -> None:
    # Given
    ages = [0, 99, 100, 4_249, 59_999, 60_000, 303_000, 3_599_999, 3_600_000, 7_500_000, 86_400_000, 2**40]

    # When
    texts = said("wording.js", "given.map((each) => [m.age(each), m.age(each, false)])", ages)

    # Then
    assert texts == [[age_text(each), age_text(each, is_exact=False)] for each in ages]


def test_numbers_have_their_thousands_apart_and_what_is_not_known_is_a_dash() -> None:
    # When
    texts = said(
        "wording.js", "[m.whole(0), m.whole(1234567), m.whole(5, false), m.whole(null), m.age(null)]"
    )

    # Then
    assert texts == ["0", "1\u202f234\u202f567", ">5", "\u2013", "\u2013"]


def test_rates_are_those_of_the_command_line() -> None:
    # Given
    counts = {"deliveredCount": 100, "redeliveredCount": 5, "acknowledgedCount": 90}
    later = {"deliveredCount": 150, "redeliveredCount": 6, "acknowledgedCount": 91}

    # When
    known = said("looks.js", "m.rates(given[0], given[1], 2)", [counts, later])
    unknown = said(
        "looks.js", "[m.rates(undefined, given[1], 2), m.rates(given[1], given[0], 2)]", [counts, later]
    )

    # Then
    (row,) = rows_of(
        GroupsLook(0.0, [{**counts, "groupId": "a"}]), GroupsLook(2.0, [{**later, "groupId": "a"}])
    )
    assert known == {name: row[f"{name}PerSecond"] for name in ("acknowledged", "delivered", "redelivered")}
    assert [set(each.values()) for each in unknown] == [{None}, {None}]


def test_what_was_seen_of_a_group_is_bounded_and_forgotten_with_it() -> None:
    # When
    seen = said(
        "looks.js",
        "(() => { const looks = new m.Looks(3);"
        " for (let at = 0; at < 5; at += 1) looks.add(at * 1000, at, [given, { ...given, groupId: 'b' }]);"
        " looks.add(5000, 5, [given]);"
        " return [looks.of('a').history.length, looks.of('b') ?? null, looks.of('a').history[2].timeMs]; })()",
        {
            "groupId": "a",
            "inFlightCount": 0,
            "deliveredCount": 0,
            "redeliveredCount": 0,
            "acknowledgedCount": 0,
        },
    )

    # Then
    assert seen == [3, None, 5]


RUNS: Final[list[Item]] = [
    {"firstOffset": 100, "lastOffset": 100, "state": "Acquired", "deliveryCount": 3, "lockRemainingMs": 5},
    {
        "firstOffset": 101,
        "lastOffset": 150,
        "state": "Acknowledged",
        "deliveryCount": 1,
        "lockRemainingMs": None,
    },
    {"firstOffset": 151, "lastOffset": 160, "state": "Acquired", "deliveryCount": 2, "lockRemainingMs": 0},
    {"firstOffset": 161, "lastOffset": 170, "state": "Archived", "deliveryCount": 5, "lockRemainingMs": None},
    {
        "firstOffset": 171,
        "lastOffset": 200,
        "state": "Available",
        "deliveryCount": 1,
        "lockRemainingMs": None,
    },
]


@pytest.mark.parametrize("width", [101, 34, 7, 1])
def test_cells_are_those_of_the_command_line(width: int) -> None:
    # Given
    strip = strip_of(RUNS, width=width, most_rows=1)

    # When
    cells = said(
        "strip-cells.js", f"m.cellsOf(given, {strip.offsets_per_cell}).map((cell) => cell.state)", RUNS
    )

    # Then
    assert cells == [cell.state for row in strip.rows for cell in row]
    assert said("strip-cells.js", "m.STATES") == list(GLYPHS)


def test_a_strip_is_never_wider_than_its_place_nor_higher_than_its_rows() -> None:
    # When
    layouts = said(
        "strip-cells.js",
        "[1, 22, 661, 2000, 100000].flatMap((count) =>"
        " [60, 333, 1200].map((width) => [width, m.layout(count, width)]))",
    )

    # Then
    for width, layout in layouts:
        assert layout["cellWidth"] * layout["cellsPerRow"] <= width
        assert layout["rows"] <= 8
        assert layout["cellsPerRow"] * layout["rows"] >= layout["cells"]


def test_the_more_often_a_record_was_delivered_the_stronger_it_is_drawn() -> None:
    # When
    strengths = said("strip-cells.js", "[0, 1, 2, 3, 4, 5, 9].map((count) => m.strength(count, 5))")

    # Then
    assert strengths == sorted(strengths)
    assert (strengths[0], strengths[1], strengths[5], strengths[6]) == (0.5, 0.5, 1, 1)
