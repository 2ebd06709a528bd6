"""The merge rule of the state log; `tests/properties/test_state_batches.py` says the rest."""

from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import NO_CHANGE, StateBatch, StateDelta, lay_over

AVAILABLE, ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED


def test_where_batches_overlap_the_higher_delivery_count_wins() -> None:
    # When
    merged = lay_over([StateBatch(0, 9, AVAILABLE, 2)], [StateBatch(5, 14, ACKNOWLEDGED, 1)], -1)

    # Then
    assert merged == (StateBatch(0, 9, AVAILABLE, 2), StateBatch(10, 14, ACKNOWLEDGED, 1))


def test_of_equal_counts_the_higher_state_wins() -> None:
    # When
    merged = lay_over([StateBatch(0, 9, AVAILABLE, 1)], [StateBatch(3, 4, ACKNOWLEDGED, 1)], -1)

    # Then
    assert merged == (
        StateBatch(0, 2, AVAILABLE, 1),
        StateBatch(3, 4, ACKNOWLEDGED, 1),
        StateBatch(5, 9, AVAILABLE, 1),
    )


def test_equal_neighbours_are_joined_whatever_write_they_came_from() -> None:
    """The example in which Kafka 4.3.1 leaves two batches apart until the next merge."""
    # Given
    old = [StateBatch(0, 9, AVAILABLE, 2), StateBatch(10, 19, AVAILABLE, 1)]

    # When
    merged = lay_over(old, [StateBatch(10, 19, AVAILABLE, 2)], -1)

    # Then
    assert merged == (StateBatch(0, 19, AVAILABLE, 2),)


def test_what_lies_below_the_start_offset_is_dropped_or_cut() -> None:
    # When
    merged = lay_over([StateBatch(0, 4, AVAILABLE, 1)], [StateBatch(5, 14, ACKNOWLEDGED, 1)], 8)

    # Then
    assert merged == (StateBatch(8, 14, ACKNOWLEDGED, 1),)


def test_a_delta_without_batches_still_says_that_the_start_offset_moved() -> None:
    assert not StateDelta(100, 0, ()).is_empty
    assert not StateDelta(-1, -1, (StateBatch(0, 0, AVAILABLE, 1),)).is_empty
    assert NO_CHANGE.is_empty
