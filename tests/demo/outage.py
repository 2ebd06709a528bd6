"""The death of a kproxy in the middle of the demo, or its restart in order, and what has to be so afterwards. Pure.

What an acknowledgement was answered with before is durable. What was in flight is not: who held which record is
forgotten, and the record is available again. So it is when another kproxy serves the group from then on.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kproxy.wording import counted
from tests.demo.ledger import Check, Delivery, Outcome, RecordId, claim_that, name_of, records_without_answer

SURVIVAL: Final = "the state log says of all {count:,} records that they are finished"
THE_ONLY_ONE: Final = "kproxy"


class OutageKind(StrEnum):
    """How a kproxy ends."""

    KILL = "kill"
    """With SIGKILL."""
    RESTART = "restart"
    """With SIGTERM, and it may take its time: as for an update."""

    @property
    def participle(self) -> str:
        """What was done to it."""
        return "killed" if self is OutageKind.KILL else "restarted"


@dataclass(slots=True)
class Outage:
    """One kproxy goes and comes back. Times are seconds of the monotonic clock, positions those of the deliveries."""

    kproxy: str
    kind: OutageKind
    began_at: float
    in_flight: set[int]
    """The deliveries that members had in hand and that nobody else had got meanwhile, and those told until it was
    over: they may have been the old process's, or made on a connection through it, or before the group moved."""
    overtaken: frozenset[int]
    """Those in hand whose lock had run out: their records had gone to another member."""
    settled_before: frozenset[RecordId]
    """What was accepted or rejected, and answered, before."""
    first_position_after: int | None = None
    """The first delivery that cannot be the killed process's; all that follow a restart."""
    first_accepted_at: float | None = None
    """When a member said that it accepted one of those."""
    accepted_by: set[str] = field(default_factory=set)
    """Who was delivered one of those and accepted it."""
    longest_pause_seconds: float = 0.0
    """The longest time in which nobody said that it accepted a record, from the beginning on."""
    successor: str | None = None
    """The other kproxy that served the group first; None without any other."""
    started_again_at: float | None = None
    back_at: float | None = None
    """When it was over: the new process answered or, of several, had its share of the slots."""

    @property
    def in_hand_count(self) -> int:
        """How many records members had in hand, and got yet of what had been sent."""
        end = self.first_position_after
        return sum(end is None or position < end for position in self.in_flight)

    def ending(self, position: int, outcome: Outcome) -> Outcome:
        """How a delivery ended that its member says ended with `outcome`: only a failure can be the outage's."""
        if outcome is Outcome.FAILED and position in self.in_flight:
            return Outcome.CUT_OFF
        if outcome is Outcome.FAILED and position in self.overtaken:
            return Outcome.TIMED_OUT
        return outcome

    def note_accepted(self, member: str, position: int, previously_at: float | None, now: float) -> None:
        """Know that a member accepted what it was delivered, and when somebody had last done so."""
        if self.back_at is None:
            since = max(self.began_at, previously_at or self.began_at)
            self.longest_pause_seconds = max(self.longest_pause_seconds, now - since)
        if self.is_after(position):
            self.accepted_by.add(member)
            self.first_accepted_at = self.first_accepted_at or now

    def is_after(self, position: int) -> bool:
        """Whether this delivery was made afterwards."""
        return self.first_position_after is not None and position >= self.first_position_after


def audit_outages(
    outages: Sequence[Outage], deliveries: Sequence[Delivery], kinds: Sequence[OutageKind]
) -> list[Check]:
    """Hold the rules against what happened; an outage of these kinds that never came breaks them."""
    if [outage.kind for outage in outages] != list(kinds):
        return [
            Check(f"kproxy was {' and '.join(kind.participle for kind in kinds)} in the middle", holds=False)
        ]
    return [check for outage in outages for check in _audit(outage, deliveries)]


def audit_state_log(produced: AbstractSet[RecordId], finished: AbstractSet[RecordId]) -> Check:
    """Whether the state log, read from Kafka itself, has every record finished."""
    offenders = [f"not {name_of(record)}" for record in sorted(produced - finished)]
    return claim_that(SURVIVAL.format(count=len(produced)), offenders)


def _audit(outage: Outage, deliveries: Sequence[Delivery]) -> list[Check]:
    took_over = [] if outage.kproxy == THE_ONLY_ONE else [_another_took_over(outage)]
    return [
        _what_was_in_flight_is_known(outage, deliveries),
        *took_over,
        _what_was_answered_stays(outage, deliveries),
        _members_went_on(outage),
    ]


def _what_was_in_flight_is_known(outage: Outage, deliveries: Sequence[Delivery]) -> Check:
    cut_off = [
        one
        for one in outage.in_flight
        if one < len(deliveries) and deliveries[one].outcome is Outcome.CUT_OFF
    ]
    unanswered = records_without_answer(deliveries)
    came_back = sum(deliveries[one].id.record not in unanswered for one in cut_off)
    later = sum(outage.is_after(one) for one in cut_off) if outage.kind is OutageKind.KILL else 0
    at_once = counted(len(cut_off) - later, "record", ",")
    more = f" and {later:,} when the group moved again," if later else ","
    was = f"{outage.kproxy} was {outage.kind.participle}"
    claim = f"{was} with {at_once} in flight{more} of which {came_back:,} came back"
    # An update may find nothing in flight, a kill without any proves nothing.
    return Check(claim, holds=bool(cut_off) or outage.kind is OutageKind.RESTART)


def _another_took_over(outage: Outage) -> Check:
    claim = f"{outage.successor or 'nobody'} took over from {outage.kproxy}, which came back"
    return Check(claim, holds=outage.successor is not None and outage.back_at is not None)


def _what_was_answered_stays(outage: Outage, deliveries: Sequence[Delivery]) -> Check:
    offenders = [
        f"{name_of(delivery.id.record)} to {delivery.member}"
        for position, delivery in enumerate(deliveries)
        if outage.is_after(position) and delivery.id.record in outage.settled_before
    ]
    settled = counted(len(outage.settled_before), "record", ",")
    return claim_that(f"none of the {settled} settled before the {outage.kind} came back", offenders)


def _members_went_on(outage: Outage) -> Check:
    names = ", ".join(sorted(outage.accepted_by)) or "nobody"
    claim = f"who went on after the {outage.kind}, never restarted: {names}"
    return Check(claim, holds=bool(outage.accepted_by))
