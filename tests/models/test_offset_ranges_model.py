"""`OffsetRanges` against one value per offset."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kproxy.share.identifiers import MemberId
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges
from kproxy.share.record_state import RecordState

START_OFFSET = 7
LOCKS = [AcquisitionLock(MemberId("alice"), 5), AcquisitionLock(MemberId("alice"), 5)]
VALUES: list[tuple[RecordState, int, AcquisitionLock | None]] = [
    (RecordState.AVAILABLE, 0, None),
    (RecordState.AVAILABLE, 1, None),
    (RecordState.ACQUIRED, 1, LOCKS[0]),
    (RecordState.ACQUIRED, 1, LOCKS[1]),
    (RecordState.ACKNOWLEDGED, 1, None),
    (RecordState.ARCHIVED, 0, None),
]


class OffsetRangesMachine(RuleBasedStateMachine):
    """The window grows at its end, shrinks at its start, and changes in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges = OffsetRanges(START_OFFSET)
        self.values: dict[int, tuple[RecordState, int, AcquisitionLock | None]] = {}
        self.start = self.end = START_OFFSET

    @rule(length=st.integers(1, 6), value=st.sampled_from(VALUES))
    def append(self, length: int, value: tuple[RecordState, int, AcquisitionLock | None]) -> None:
        self.ranges.append(InFlightRange(self.end, self.end + length - 1, *value))
        self.values.update(dict.fromkeys(range(self.end, self.end + length), value))
        self.end += length

    @precondition(lambda self: self.values)
    @rule(
        data=st.data(),
        pieces=st.lists(st.tuples(st.integers(1, 4), st.sampled_from(VALUES)), min_size=1, max_size=4),
    )
    def replace(
        self,
        data: st.DataObject,
        pieces: list[tuple[int, tuple[RecordState, int, AcquisitionLock | None]]],
    ) -> None:
        offset = data.draw(st.integers(self.start, self.end - 1))
        runs = []
        for length, value in pieces:
            last = min(offset + length, self.end) - 1
            if offset <= last:
                runs.append(InFlightRange(offset, last, *value))
                self.values.update(dict.fromkeys(range(offset, last + 1), value))
            offset = last + 1
        self.ranges.replace(runs)

    @precondition(lambda self: self.values)
    @rule(data=st.data(), value=st.sampled_from(VALUES))
    def rewrite(self, data: st.DataObject, value: tuple[RecordState, int, AcquisitionLock | None]) -> None:
        inside = st.integers(self.start, self.end - 1)
        bounds = sorted(data.draw(st.lists(inside, min_size=2, max_size=12)))
        spans = list(zip(bounds[::2], bounds[1::2], strict=False))
        self.ranges.rewrite([[InFlightRange(first, last, *value)] for first, last in spans])
        for first, last in spans:
            self.values.update(dict.fromkeys(range(first, last + 1), value))

    @rule(data=st.data())
    def drop_below(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        self.ranges.drop_below(offset)
        self._drop_below(offset)

    @rule()
    def drop_terminal_prefix(self) -> None:
        self.ranges.drop_terminal_prefix()
        self._drop_below(
            next((o for o, value in self.values.items() if value[0] in (0, 1)), self.end),
        )

    def _drop_below(self, offset: int) -> None:
        self.values = {o: value for o, value in self.values.items() if o >= offset}
        self.start = offset

    @precondition(lambda self: self.values)
    @rule(data=st.data())
    def clip(self, data: st.DataObject) -> None:
        first = data.draw(st.integers(self.start, self.end - 1))
        last = data.draw(st.integers(first, self.end - 1))
        runs = self.ranges.clipped(first, last)
        assert expanded(runs) == [(o, self.values[o]) for o in range(first, last + 1)]

    @invariant()
    def both_hold_the_same(self) -> None:
        assert expanded(list(self.ranges)) == sorted(self.values.items())
        assert (self.ranges.start_offset, self.ranges.end_offset) == (self.start, self.end)

    @invariant()
    def runs_are_maximal(self) -> None:
        changes = sum(
            self.values[offset] != self.values[offset - 1] for offset in range(self.start + 1, self.end)
        )
        assert len(self.ranges) == (changes + 1 if self.values else 0)

    @invariant()
    def counts_are_right(self) -> None:
        states = [value[0] for value in self.values.values()]
        assert self.ranges.available_count == states.count(RecordState.AVAILABLE)
        assert self.ranges.terminal_count == sum(state in (2, 4) for state in states)

    @invariant()
    def the_first_available_offset_is_found(self) -> None:
        available = [o for o, value in self.values.items() if value[0] is RecordState.AVAILABLE]
        assert self.ranges.first_available() == min(available, default=self.end)


def expanded(runs: list[InFlightRange]) -> list[tuple[int, tuple[RecordState, int, AcquisitionLock | None]]]:
    return [
        (offset, (run.state, run.delivery_count, run.lock))
        for run in runs
        for offset in range(run.first_offset, run.last_offset + 1)
    ]


TestOffsetRanges = OffsetRangesMachine.TestCase
