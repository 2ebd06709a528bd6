import click
import pytest

from kproxy.jobs.times import TIME


@pytest.mark.parametrize(
    "text", ["tomorrow", "1969-12-31T23:59:59Z", "-1", "253402300800000", "99999999999999999999", "99999999"]
)
def test_what_is_no_time_is_a_usage_error_that_says_what_was_expected(text: str) -> None:
    # When
    with pytest.raises(click.BadParameter) as refusal:
        TIME.convert(text, None, None)

    # Then
    assert "2026-11-20T13:00Z" in refusal.value.message


def test_a_number_is_taken_as_it_is() -> None:
    # When
    read = TIME.convert(7, None, None)

    # Then
    assert read == 7


def test_a_time_in_words_becomes_milliseconds() -> None:
    # When
    read = TIME.convert("2026-11-20T13:00Z", None, None)

    # Then
    assert read == 1_795_179_600_000
