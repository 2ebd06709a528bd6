"""What an operator does with records in flight, whoever holds them: planned in full, then put in place.

No member asked for it, and Kafka has nothing like it. To who held the records it is as if its lock had run out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from kproxy.errors import InvalidRecordState, InvalidRequest
from kproxy.share.acknowledgement import state_after_attempt
from kproxy.share.identifiers import MemberId
from kproxy.share.limits import ShareLimits
from kproxy.share.offset_ranges import InFlightRange, OffsetRanges
from kproxy.share.record_state import TERMINAL_STATES, RecordState
from kproxy.share.share_partition_view import InFlightRangeView, view_of


class OperatorAction(StrEnum):
    """What is done.

    RELEASE ends an attempt: the record is delivered again, or archived at the delivery limit. ACCEPT takes it for
    processed. ARCHIVE takes it out of delivery, also one that was delivered and nobody holds now.
    """

    RELEASE = "release"
    ACCEPT = "accept"
    ARCHIVE = "archive"


_HELD: Final = frozenset({RecordState.ACQUIRED})
_FROM: Final = {
    OperatorAction.RELEASE: _HELD,
    OperatorAction.ACCEPT: _HELD,
    OperatorAction.ARCHIVE: frozenset({RecordState.ACQUIRED, RecordState.AVAILABLE}),
}
"""The states that each action may find."""

_TO: Final = {
    OperatorAction.ACCEPT: RecordState.ACKNOWLEDGED,
    OperatorAction.ARCHIVE: RecordState.ARCHIVED,
}
"""The state that each leaves, but for the release: that depends on how often the record was delivered."""


@dataclass(frozen=True, slots=True)
class OperatorSettlement:
    """Runs as they are `before`, and as they are to be `after`; `rewrites` put them in place, holes included.

    It holds for the moment in which it was planned.
    """

    before: Sequence[InFlightRange]
    after: Sequence[InFlightRange]
    rewrites: Sequence[Sequence[InFlightRange]]

    @staticmethod
    def planned(
        ranges: OffsetRanges,
        limits: ShareLimits,
        action: OperatorAction,
        spans: Sequence[tuple[int, int]],
        holder: MemberId | None = None,
    ) -> "OperatorSettlement":
        """Return what `action` makes of `spans`, first and last offsets, inclusive and ascending. Changes nothing.

        Holes in between stay. `holder`, if there is one, has to hold every record. Raises for the first offset of which
        it cannot be done:

        - InvalidRequest: the spans are none, or not ascending and disjoint; nothing was ever delivered there.
        - InvalidRecordState: it is done with, or nobody, or another one, holds what somebody has to hold.
        """
        _require_ascending(spans)
        outcome = _Outcome(action, limits, holder)
        before: list[InFlightRange] = []
        after: list[InFlightRange] = []
        rewrites: list[list[InFlightRange]] = []
        for span in spans:
            _require_in_flight(ranges, span)
            rewritten: list[InFlightRange] = []
            count_before = len(before)
            for run in ranges.clipped(*span):
                if run.is_hole:
                    rewritten.append(run)
                    continue
                settled = outcome.of(run)
                rewritten.append(settled)
                before.append(run)
                after.append(settled)
            if len(before) == count_before:
                raise InvalidRequest(f"there is no record at offset {span[0]}")
            rewrites.append(rewritten)
        return OperatorSettlement(before, after, rewrites)

    def first_changed(self, runs: Sequence[InFlightRangeView]) -> tuple[int, InFlightRangeView | None] | None:
        """Return the first offset that is not as it was `before`, and the run that it is in now; None without any.

        `runs` are all that are in flight, ascending. An offset that is in none of them is done with.
        """
        index = 0
        for was in self.before:
            offset = was.first_offset
            while offset <= was.last_offset:
                while index < len(runs) and runs[index].last_offset < offset:
                    index += 1
                run = runs[index] if index < len(runs) and runs[index].first_offset <= offset else None
                if run is None or not _is_as_it_was(was, run):
                    return offset, run
                offset = run.last_offset + 1
        return None


def _is_as_it_was(was: InFlightRange, run: InFlightRangeView) -> bool:
    before = view_of(was)
    return (before.state, before.delivery_count, before.member_id) == (
        run.state,
        run.delivery_count,
        run.member_id,
    )


def _require_ascending(spans: Sequence[tuple[int, int]]) -> None:
    if not spans:
        raise InvalidRequest("no offsets are given")
    for first, last in spans:
        if first > last:
            raise InvalidRequest(f"offsets {first} to {last} are reversed")
    for (_, before), (after, _) in pairwise(spans):
        if after <= before:
            raise InvalidRequest(f"offset {after} is not above {before}")


def _require_in_flight(ranges: OffsetRanges, span: tuple[int, int]) -> None:
    if not ranges:
        raise InvalidRecordState(f"nothing is in flight, so neither is offset {span[0]}")
    if span[0] < ranges.start_offset:
        raise InvalidRecordState(
            f"offset {span[0]} is done with: what is in flight begins at {ranges.start_offset}"
        )
    if span[1] >= ranges.end_offset:
        raise InvalidRequest(f"offset {span[1]} was never acquired, the last one is {ranges.end_offset - 1}")


class _Outcome:
    """What becomes of a record: found out once for all of them, of which there may be thousands."""

    __slots__ = ("_action", "_holder", "_limits", "_state", "_states_before")

    def __init__(self, action: OperatorAction, limits: ShareLimits, holder: MemberId | None) -> None:
        self._action = action
        self._limits = limits
        self._holder = holder
        self._states_before = _FROM[action]
        self._state = _TO.get(action)

    def of(self, run: InFlightRange) -> InFlightRange:
        """Return `run`, which is no hole, as it is to be. Raises InvalidRecordState."""
        if self._holder is not None:
            _require_held_by(self._holder, run)
        if run.state not in self._states_before or not run.delivery_count:
            raise _refusal(run, self._action)
        state = state_after_attempt(run, self._limits) if self._state is None else self._state
        return InFlightRange(run.first_offset, run.last_offset, state, run.delivery_count, None)


def _require_held_by(holder: MemberId, run: InFlightRange) -> None:
    member_id = None if run.lock is None else run.lock.member_id
    if holder == member_id or run.state in TERMINAL_STATES:
        return
    by = "nobody" if member_id is None else repr(str(member_id))
    raise InvalidRecordState(f"offset {run.first_offset} is held by {by}, and not by {str(holder)!r}")


def _refusal(run: InFlightRange, action: OperatorAction) -> InvalidRecordState:
    """Return why `action` cannot be done: the state, or that nobody was ever given the record."""
    if run.state in _FROM[action]:
        return InvalidRecordState(
            f"offset {run.first_offset} was never delivered: there is no attempt to end"
        )
    hint = "; archive takes it out of delivery" if run.state is RecordState.AVAILABLE else ""
    return InvalidRecordState(
        f"offset {run.first_offset} is {run.state.name.capitalize()}, which {action} leaves as it is{hint}"
    )
