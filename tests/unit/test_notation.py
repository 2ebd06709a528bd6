import pytest

from kproxy.notation import camel_case, iso_time, timestamp_ms_of


@pytest.mark.parametrize(
    ("epoch_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_795_262_400_007, "2026-11-21T12:00:00.007Z"),
        (999, "1970-01-01T00:00:00.999Z"),
    ],
)
def test_an_instant_is_iso_8601_in_utc(epoch_ms: int, text: str) -> None:
    assert iso_time(epoch_ms) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [("version", "version"), ("node_id", "nodeId"), ("is_enabled", "enabled"), ("a_b_c", "aBC")],
)
def test_a_name_is_shown_in_camel_case(name: str, shown: str) -> None:
    assert camel_case(name) == shown


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
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        timestamp_ms_of(text)
