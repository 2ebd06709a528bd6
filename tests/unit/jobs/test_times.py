import click
import pytest

from kproxy.jobs.times import TIME, timestamp_ms_of


@pytest.mark.parametrize(
    ("text", "timestamp_ms"),
    [
        ("2026-11-20T13:00Z", 1_795_179_600_000),
        ("2026-11-20 13:00", 1_795_179_600_000),
        ("2026-11-20T14:00:00.250+01:00", 1_795_179_600_250),
        ("2026-11-20", 1_795_132_800_000),
        ("20261120", 1_795_132_800_000),
        ("1795179600000", 1_795_179_600_000),
        ("0", 0),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ],
)
def test_times_are_read_as_people_write_them(text: str, timestamp_ms: int) -> None:
    # When
    read = timestamp_ms_of(text)

    # Then
    assert read == timestamp_ms


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
