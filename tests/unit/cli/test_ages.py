"""Ages as people read them."""

import pytest

from kproxy.cli.ages import age_text


@pytest.mark.parametrize(
    ("age_ms", "text"),
    [
        (0, "0.0s"),
        (4_299, "4.2s"),
        (59_999, "59.9s"),
        (60_000, "1m00s"),
        (303_000, "5m03s"),
        (3_600_000, "1h00m"),
        (7_559_000, "2h05m"),
        (86_400_000, "1d00h"),
        (3 * 86_400_000 + 4 * 3_600_000, "3d04h"),
        (400 * 86_400_000, "400d00h"),
    ],
)
def test_an_age_has_two_units_at_most_and_is_rounded_down(age_ms: int, text: str) -> None:
    assert age_text(age_ms) == text


def test_a_lower_bound_says_so() -> None:
    assert age_text(303_000, is_exact=False) == ">5m03s"


def test_no_age_is_no_text() -> None:
    assert age_text(None) is None
