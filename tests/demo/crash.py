"""kproxy's death in the middle of the demo, and the rules that its new life has to obey. Pure.

What an acknowledgement was answered with before the kill is durable. What was in flight is not: who held which
record is forgotten, and the record is available again.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from kproxy.wording import counted
from tests.demo.ledger import Check, Delivery, Outcome, RecordId, claim_that, name_of, records_without_answer

SURVIVAL: Final = "the state log says of all {count:,} records that they are finished"


@dataclass(slots=True)
class Crash:
    """A kill and what followed. Times are seconds of the monotonic clock; positions are those of the deliveries."""

    killed_at: float
    in_flight: set[int]
    """The deliveries that members had in hand and that nobody else had got meanwhile."""
    overtaken: frozenset[int]
    """Those in hand whose lock had run out: their records had gone to another member."""
    settled_before: frozenset[RecordId]
    """What was accepted or rejected, and answered, before the kill."""
    back_at: float | None = None
    """When the new process answered for the first time; until then nothing new can be delivered."""
    first_position_after: int | None = None
    """The first delivery that only the new process can have made."""
    first_accepted_at: float | None = None
    accepted_by: set[str] = field(default_factory=set)
    """Who was delivered a record after the kill and accepted it."""

    def ending(self, position: int, outcome: Outcome) -> Outcome:
        """How a delivery ended that its member says ended with `outcome`: only a failure can be the kill's."""
        if outcome is Outcome.FAILED and position in self.in_flight:
            return Outcome.CUT_OFF
        if outcome is Outcome.FAILED and position in self.overtaken:
            return Outcome.TIMED_OUT
        return outcome

    def is_after(self, position: int) -> bool:
        """Whether this delivery is the new process's."""
        return self.first_position_after is not None and position >= self.first_position_after


def audit_crash(crash: Crash | None, deliveries: Sequence[Delivery]) -> list[Check]:
    """Hold the rules of a kill against what happened; one that never came breaks them."""
    if crash is None:
        return [Check("kproxy was killed in the middle", holds=False)]
    return [
        _something_was_in_flight(deliveries),
        _what_was_answered_stays(crash, deliveries),
        _members_went_on(crash),
    ]


def audit_state_log(produced: AbstractSet[RecordId], finished: AbstractSet[RecordId]) -> Check:
    """Whether the state log, read from Kafka itself, has every record finished."""
    offenders = [f"not {name_of(record)}" for record in sorted(produced - finished)]
    return claim_that(SURVIVAL.format(count=len(produced)), offenders)


def _something_was_in_flight(deliveries: Sequence[Delivery]) -> Check:
    cut_off = sum(delivery.outcome is Outcome.CUT_OFF for delivery in deliveries)
    came_back = cut_off - len(records_without_answer(deliveries))
    claim = f"kproxy was killed with {counted(cut_off, 'record', ',')} in flight, of which {came_back:,} came back"
    return Check(claim, holds=cut_off > 0)


def _what_was_answered_stays(crash: Crash, deliveries: Sequence[Delivery]) -> Check:
    offenders = [
        f"{name_of(delivery.id.record)} to {delivery.member}"
        for position, delivery in enumerate(deliveries)
        if crash.is_after(position) and delivery.id.record in crash.settled_before
    ]
    count = len(crash.settled_before)
    return claim_that(
        f"none of the {counted(count, 'record', ',')} settled before the kill came back", offenders
    )


def _members_went_on(crash: Crash) -> Check:
    names = ", ".join(sorted(crash.accepted_by)) or "nobody"
    return Check(f"who went on after the kill, never restarted: {names}", holds=bool(crash.accepted_by))
