"""What a full window means, in words that say nothing of records that are not there."""

from typing import Any

import pytest

from kproxy.clients.diagnosis.windows import window_text

LIMIT = "the limit of the group (share.partition.max.record.locks) is 100"


def share_partition(count: int, log_end_offset: int | None, **said: Any) -> dict[str, Any]:
    return {
        "inFlightCount": count,
        "inFlightLimit": 100,
        "endOffset": count - 1,
        "logEndOffset": log_end_offset,
        **said,
    }


LOADED = (
    "Either the record batch in which the limit was reached is larger than the room that was left, or the limit "
    "was higher then: which of both is not in the state log, from where they were loaded"
)
BATCH = "The record batch in which the limit was reached is larger than the room that was left: it is delivered whole"
LOWERED = "The limit was 2000 when the last of them were acquired"
BOTH = (
    "The limit was 500 when the last of them were acquired, "
    "and the record batch in which it was reached was delivered whole"
)


@pytest.mark.parametrize(
    ("of", "size", "behind"),
    [
        (
            share_partition(100, 200),
            f"full: 100 records in flight, {LIMIT}",
            "The 100 records behind offset 99 are not delivered before the first one is done with",
        ),
        (
            share_partition(600, 625),
            f"overfull: 600 records in flight, {LIMIT}. {LOADED}",
            "The 25 records behind offset 599 are not delivered before the first 501 are done with",
        ),
        *(
            (
                share_partition(600, 625, inFlightLimitAtGrowth=limit_then),
                f"overfull: 600 records in flight, {LIMIT}. {why}",
                "The 25 records behind offset 599 are not delivered before the first 501 are done with",
            )
            for limit_then, why in [(100, BATCH), (50, BATCH), (2000, LOWERED), (500, BOTH)]
        ),
        (
            share_partition(100, 100),
            f"full: 100 records in flight, {LIMIT}",
            "Nothing was produced behind them so far (the log ends at offset 100)",
        ),
        (
            share_partition(100, None),
            f"full: 100 records in flight, {LIMIT}",
            "What may be behind them is not delivered before the first one is done with",
        ),
    ],
)
def test_a_full_window_says_by_which_limit_and_what_that_holds_up(
    of: dict[str, Any], size: str, behind: str
) -> None:
    assert window_text(of) == f"{size}. {behind}"


@pytest.mark.parametrize("limit", [100, None])
def test_of_a_window_with_room_nothing_is_said(limit: int | None) -> None:
    assert window_text(share_partition(99, 200, inFlightLimit=limit)) == ""
