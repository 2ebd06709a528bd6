"""Laying state batches over others, against one value per offset."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch, lay_over

STATES = st.sampled_from([RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED])
BATCHES = st.builds(
    lambda first, length, state, count: StateBatch(first, first + length, state, count),
    first=st.integers(0, 40),
    length=st.integers(0, 9),
    state=STATES,
    count=st.integers(0, 4),
)
"""Any batches, overlapping or not, in any order."""

START_OFFSETS = st.integers(-1, 45)


def by_offset(batches: list[StateBatch], start_offset: int) -> dict[int, tuple[int, RecordState]]:
    """Return count and state of every offset; the highest count wins, then the highest state."""
    values: dict[int, tuple[int, RecordState]] = {}
    for batch in batches:
        for offset in range(max(batch.first_offset, start_offset), batch.last_offset + 1):
            value = batch.delivery_count, batch.state
            values[offset] = max(values.get(offset, value), value)
    return values


@given(old=st.lists(BATCHES, max_size=8), new=st.lists(BATCHES, max_size=8), start_offset=START_OFFSETS)
def test_every_offset_gets_its_highest_count_and_then_its_highest_state(
    old: list[StateBatch], new: list[StateBatch], start_offset: int
) -> None:
    merged = lay_over(lay_over((), old, -1), new, start_offset)

    assert by_offset(list(merged), -1) == by_offset([*old, *new], start_offset)


@given(old=st.lists(BATCHES, max_size=8), new=st.lists(BATCHES, max_size=8), start_offset=START_OFFSETS)
def test_the_result_is_ascending_disjoint_and_joined(
    old: list[StateBatch], new: list[StateBatch], start_offset: int
) -> None:
    merged = lay_over(lay_over((), old, -1), new, start_offset)

    for left, right in pairwise(merged):
        assert left.first_offset <= left.last_offset < right.first_offset
        is_adjacent = left.last_offset + 1 == right.first_offset
        assert not is_adjacent or (left.state, left.delivery_count) != (right.state, right.delivery_count)


@given(batches=st.lists(BATCHES, max_size=8), start_offset=START_OFFSETS, data=st.data())
def test_the_order_of_writes_does_not_matter(
    batches: list[StateBatch], start_offset: int, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(batches))
    in_two_writes = data.draw(st.integers(0, len(batches)))

    first = lay_over((), shuffled[:in_two_writes], start_offset)

    assert lay_over(first, shuffled[in_two_writes:], start_offset) == lay_over((), batches, start_offset)


@given(batches=st.lists(BATCHES, max_size=8), start_offset=START_OFFSETS)
def test_a_repeated_write_changes_nothing(batches: list[StateBatch], start_offset: int) -> None:
    once = lay_over((), batches, start_offset)

    assert lay_over(once, batches, start_offset) == once
