"""Lengths of time and moments, as sentences have them."""

import pytest

from kproxy.clients.diagnosis.spans import ends_text, moment_text, span_text

NOON_MS = 1_795_262_400_000


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0.0 s"),
        (59_940, "59.9 s"),
        (106_000, "1m46s"),
        (7_500_000, "2h05m"),
        (273_600_000, "3d04h"),
    ],
)
def test_a_length_of_time_has_two_units_at_most(duration_ms: int, text: str) -> None:
    assert span_text(duration_ms) == text


@pytest.mark.parametrize(
    ("later_ms", "text"),
    [
        (13_000, "12:00:13 UTC"),
        (86_400_000, "2026-11-22 12:00:00 UTC"),
        (10**18, "9999-12-31 23:59:59 UTC"),
    ],
)
def test_a_moment_of_another_day_has_its_date(later_ms: int, text: str) -> None:
    assert moment_text(NOON_MS + later_ms, now_ms=NOON_MS) == text


def test_what_ends_says_in_how_long_and_when() -> None:
    assert ends_text(29_000, now_ms=NOON_MS) == "in 29.0 s, at 12:00:29 UTC"
