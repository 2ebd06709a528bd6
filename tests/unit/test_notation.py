import pytest

from kproxy.notation import camel_case, iso_time


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
