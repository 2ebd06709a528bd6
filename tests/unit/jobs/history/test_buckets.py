"""Durations as people write them."""

import pytest

from kproxy.notation import duration_ms_of


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("2d", 172_800_000)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, milliseconds: int) -> None:
    assert duration_ms_of(text) == milliseconds


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "-1s", "1.5h", "5 m", "5w"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        duration_ms_of(text)
