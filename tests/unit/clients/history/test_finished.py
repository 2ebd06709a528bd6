from typing import Any

import pytest

from kproxy.clients.failures import NotThere
from kproxy.clients.history.finished import FinishedRecords
from kproxy.clients.history.selection import Selected
from tests.unit.clients.history.asked_logs import let_take
from tests.worlds.consumptions import FIRST_MS, Step, consumption_of


def finished_of(steps: list[Step], **options: Any) -> FinishedRecords:
    finished = FinishedRecords(
        Selected(group="orders-0"),
        options.pop("ends", {"reject", "delivery-limit"}),
        options.pop("most", 10),
        **options,
    )
    let_take(finished, [consumption_of(0, steps)])
    return finished


def shown(finished: FinishedRecords) -> list[tuple[Any, ...]]:
    names = ("firstOffset", "lastOffset", "endedBy", "event", "memberId")
    return [tuple(run[name] for name in names) for run in finished.runs("the log")]


def test_records_that_were_rejected_or_reached_the_limit_are_told_with_who_had_them_last() -> None:
    # Given
    tried = [
        Step(0, "lock-timeout", member, 0, 1, 1000) for member in ("alice", "bob", "alice", "bob", "carol")
    ]

    # When
    finished = finished_of(
        [*tried, Step(0, "reject", "bob", 0, 2, 1000), Step(0, "accept", "bob", 0, 2, 1000)]
    )

    # Then
    assert shown(finished) == [
        (1, 2, "reject", "reject", "bob"),
        (0, 0, "delivery-limit", "lock-timeout", "carol"),
    ]


def test_only_the_newest_are_kept_and_the_others_counted() -> None:
    # When
    finished = finished_of([Step(0, "reject", "bob", 0, 1, 1000) for _ in range(5)], most=2)

    # Then
    assert [run[0] for run in shown(finished)] == [4, 3]
    assert finished.dropped_count == 3


def test_what_ended_before_the_time_asked_for_is_left_out() -> None:
    # When
    finished = finished_of([Step(0, "reject", "bob", 0, 1, 1000) for _ in range(3)], since_ms=FIRST_MS + 3000)

    # Then
    assert [run[0] for run in shown(finished)] == [2]


def test_a_group_that_the_log_does_not_have_is_not_there() -> None:
    # Given
    finished = FinishedRecords(Selected(group="nobody"), {"reject"}, 10)

    # When
    with pytest.raises(NotThere) as raised:
        finished.runs("the log")

    # Then
    assert str(raised.value) == "there is no share group 'nobody' in the log; there is none so far"
