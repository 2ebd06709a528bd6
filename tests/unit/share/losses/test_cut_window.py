"""What was in flight when the log lost all of it."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kproxy.share.losses.cut_window import CutWindow
from tests.worlds.share_builders import ACCEPT, GAP, REJECT, RELEASE, RENEW, SaidBatch, say


class ComparedOffset(int):
    """An offset; counts how often such are compared."""

    comparisons = 0

    def __lt__(self, other: int) -> bool:
        ComparedOffset.comparisons += 1
        return int(self) < int(other)

    def __gt__(self, other: int) -> bool:
        ComparedOffset.comparisons += 1
        return int(self) > int(other)

    def __le__(self, other: int) -> bool:
        return not self > other

    def __ge__(self, other: int) -> bool:
        return not self < other


@given(data=st.data())
def test_what_was_in_flight_at_a_cut_is_open_until_it_is_acknowledged_for_good(data: st.DataObject) -> None:
    # Given
    offsets = st.integers(0, 30)
    open_offsets = data.draw(st.sets(offsets, min_size=1))
    cut = CutWindow(31, [(offset, offset) for offset in sorted(open_offsets)])
    bounds = sorted(data.draw(st.sets(offsets, min_size=2)))
    types = st.sampled_from([GAP, ACCEPT, RELEASE, REJECT, RENEW])
    batches = [
        SaidBatch(first, end - 1, data.draw(st.lists(types, min_size=end - first, max_size=end - first)))
        for first, end in pairwise(bounds)
    ]

    # When
    is_settled = cut.is_settled_by(batches)

    # Then
    for batch in batches:
        for offset, acknowledge_type in enumerate(batch.acknowledge_types, batch.first_offset):
            if acknowledge_type not in {RELEASE, RENEW}:
                open_offsets.discard(offset)
    left = {offset for first, last in cut.open_spans for offset in range(first, last + 1)}
    assert (left, is_settled) == (open_offsets, not open_offsets)


def test_spans_and_what_is_said_of_them_are_gone_through_once_together() -> None:
    """A request may have 49,000 batches about one offset that the log lost, and be sent again and again."""
    # Given
    spans: list[tuple[int, int]] = [
        (ComparedOffset(offset), ComparedOffset(offset)) for offset in range(0, 2_000, 2)
    ]
    cut = CutWindow(2_000, spans)
    ComparedOffset.comparisons = 0

    # When
    is_settled = cut.is_settled_by(
        [*say(0, 999, RELEASE, *[RENEW] * 999), *say(1_000, 1_000, RELEASE) * 49_000]
    )

    # Then
    assert (len(cut.open_spans), is_settled) == (1_000, False)
    assert ComparedOffset.comparisons < 60_000
