"""What may be deleted of the state log."""

import pytest

from kproxy.statelog.pruning import history_begin_ms, prune_before


@pytest.mark.parametrize(
    ("recovery_point", "first_offset_of_history", "expected"),
    [(100, 40, 40), (100, 100, 100), (100, 900, 100), (0, 900, 0)],
)
def test_history_is_kept_and_so_is_what_recovery_needs(
    recovery_point: int, first_offset_of_history: int, expected: int
) -> None:
    pruned = prune_before(recovery_point=recovery_point, first_offset_of_history=first_offset_of_history)

    assert pruned == expected


@pytest.mark.parametrize(("now_ms", "history_ms", "expected"), [(5000, 1000, 4000), (5000, 9000, 0)])
def test_history_begins_some_time_ago(now_ms: int, history_ms: int, expected: int) -> None:
    assert history_begin_ms(now_ms=now_ms, history_ms=history_ms) == expected
