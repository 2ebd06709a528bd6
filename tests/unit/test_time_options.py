import time

import click
import pytest

from kproxy.time_options import DURATION, MOMENT, TIME, Duration, Moment


def test_a_moment_may_be_told_by_how_long_ago_it_was() -> None:
    # Given
    now_ms = time.time_ns() // 1_000_000

    # When
    moment = MOMENT.convert("1h", None, None)

    # Then
    assert abs(now_ms - 3_600_000 - moment) < 60_000


@pytest.mark.parametrize(
    ("text", "epoch_ms"),
    [("2026-11-20T13:00Z", 1_795_179_600_000), ("1795179600000", 1_795_179_600_000), (5, 5)],
)
def test_a_moment_may_be_a_time(text: object, epoch_ms: int) -> None:
    assert MOMENT.convert(text, None, None) == epoch_ms


@pytest.mark.parametrize(("kind", "text"), [(MOMENT, "soon"), (DURATION, "5"), (DURATION, "0s")])
def test_anything_else_is_wrong_usage(kind: Moment | Duration, text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected"):
        kind.convert(text, None, None)


def test_a_duration_has_a_unit() -> None:
    assert (DURATION.convert("5m", None, None), DURATION.convert(7, None, None)) == (300_000, 7)


@pytest.mark.parametrize(
    "text", ["tomorrow", "1969-12-31T23:59:59Z", "-1", "253402300800000", "99999999999999999999", "99999999"]
)
def test_what_is_no_time_is_a_usage_error_that_says_what_was_expected(text: str) -> None:
    # When
    with pytest.raises(click.BadParameter) as refusal:
        TIME.convert(text, None, None)

    # Then
    assert "2026-11-20T13:00Z" in refusal.value.message


def test_a_time_that_is_a_number_is_taken_as_it_is() -> None:
    # When
    read = TIME.convert(7, None, None)

    # Then
    assert read == 7


def test_a_time_in_words_becomes_milliseconds() -> None:
    # When
    read = TIME.convert("2026-11-20T13:00Z", None, None)

    # Then
    assert read == 1_795_179_600_000
