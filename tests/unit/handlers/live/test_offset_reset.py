"""`share.auto.offset.reset`: what it may say, and what the leader is then asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import InvalidConfig
from kproxy.handlers.live.offset_reset import parse_offset_reset

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [
        ("latest", -1),
        ("earliest", -2),
        ("by_duration:PT0S", NOW_MS),
        ("by_duration:PT1H", NOW_MS - 3_600_000),
        ("by_duration:P7D", NOW_MS - 604_800_000),
        ("by_duration:P1DT2H3M4.5S", NOW_MS - 93_784_500),
        ("by_duration:pt1.5s", NOW_MS - 1_500),
        ("by_duration:PT1,25S", NOW_MS - 1_250),
        ("by_duration:-PT-1H", NOW_MS - 3_600_000),
        ("by_duration:PT1H-30M", NOW_MS - 1_800_000),
        ("by_duration:P999999D", 0),
    ],
)
def test_a_reset_names_a_timestamp(text: str, timestamp: int) -> None:
    # When
    reset = parse_offset_reset(text)

    # Then
    assert reset.timestamp(NOW_MS) == timestamp


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "Latest",
        "by_duration",
        "by_duration:",
        "by_duration:1h",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:P1DT",
        "by_duration:P1W",
        "by_duration:PT1H1D",
        "by_duration:-PT1H",
        "by_duration:PT-1S",
        "by_duration:PT-0.5S",
        "by_duration:PT1.0000000001S",
        "by_duration:PT\u0661S",
        "by_duration:PT" + "9" * 5_000 + "S",
    ],
)
def test_anything_else_is_refused_with_the_value_in_the_message(text: str) -> None:
    # When
    with pytest.raises(InvalidConfig) as refusal:
        parse_offset_reset(text)

    # Then
    assert text.removeprefix("by_duration:") in str(refusal.value)


@given(st.text())
def test_no_text_raises_anything_but_invalid_config(text: str) -> None:
    # When
    try:
        reset = parse_offset_reset(f"by_duration:{text}")
    except InvalidConfig:
        return

    # Then
    assert 0 <= reset.timestamp(NOW_MS) <= NOW_MS
