"""Cells of the columns of `kproxy top`."""

from typing import Any

import pytest

from kproxy.cli.top_columns import COLUMNS, LEFT_OUT_FIRST, lag_text

ROW: dict[str, Any] = {
    "groupId": "workers",
    "state": "Stable",
    "memberCount": 1,
    "lag": None,
    "lagExact": False,
    "oldestAgeMs": 61_000,
    "oldestAgeExact": False,
    "inFlightCount": 0,
    "acknowledgedPerSecond": 9.96,
    "deliveredPerSecond": 12.5,
    "redeliveredPerSecond": None,
    "oldestLockAgeMs": None,
}


def test_what_is_not_known_is_a_dash_and_a_lower_bound_is_marked() -> None:
    assert [column.cell(ROW) for column in COLUMNS] == [
        *("workers", "Stable", "1", "-", ">1m01s", "0"),
        *("10.0", "12", "-", "-"),
    ]


@pytest.mark.parametrize(("lag", "is_exact", "text"), [(5, True, "5"), (5, False, ">5"), (None, False, None)])
def test_a_lag_that_is_not_exact_is_at_least_that(lag: int | None, is_exact: bool, text: str | None) -> None:  # noqa: FBT001 - a parameter of the test
    assert lag_text({"lag": lag, "lagExact": is_exact}) == text


def test_only_columns_that_are_there_are_left_out() -> None:
    assert set(LEFT_OUT_FIRST) < {column.title for column in COLUMNS}
