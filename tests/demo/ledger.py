"""What happened to each record, and the rules that the sums of the demo obey. Pure.

A *delivery* is one record in the hands of one member, known by the record and its delivery count. It ends in
one way: the member accepts, releases or rejects the record and is told so without an error, or holds it for
longer than its lock. A released record and one whose lock ran out are delivered again; an accepted or
rejected one never (KIP-932, "In-flight records").

A late acknowledgement changes nothing, and its answer says little: a record that another member has settled
meanwhile may lie below the share-partition's start offset, where brokers pass over acknowledgements without
an error. So a delivery counts as timed out by the clock of its member, and the record has to be settled by
another one.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from tests.demo.jobs import JobKind, Verdict

LATE_ACKNOWLEDGEMENT_ERROR: Final = "INVALID_RECORD_STATE"
"""What a member is told that acknowledges a record which it does not hold any more."""

SHOWN_OFFENDERS: Final = 3


class RecordId(NamedTuple):
    """A record of the demo's only topic."""

    partition: int
    offset: int


class DeliveryId(NamedTuple):
    """One delivery of a record; `delivery_count` is 1 for the first one."""

    record: RecordId
    delivery_count: int


class Outcome(StrEnum):
    """How a delivery ended."""

    HELD = "held"
    """Not at all, so far."""
    ACCEPTED = "accepted"
    RELEASED = "released"
    REJECTED = "rejected"
    TIMED_OUT = "timed out"
    """The member held the record past its lock."""
    FAILED = "failed"
    """The acknowledgement was answered with an error that its lock does not explain, or not at all."""


FINAL_OUTCOMES: Final = frozenset({Outcome.ACCEPTED, Outcome.REJECTED})
"""After these a record is never delivered again."""

OUTCOME_OF_VERDICT: Final = {
    Verdict.ACCEPT: Outcome.ACCEPTED,
    Verdict.RELEASE: Outcome.RELEASED,
    Verdict.REJECT: Outcome.REJECTED,
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """A record in the hands of a member, and how that ended."""

    member: str
    id: DeliveryId
    outcome: Outcome


@dataclass(slots=True)
class Tally:
    """Deliveries counted."""

    delivered: int = 0
    redelivered: int = 0
    """Those among them that were not the first of their record."""
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def note_delivery(self, delivery_id: DeliveryId) -> None:
        """Count a delivery, whose outcome is not counted yet."""
        self.delivered += 1
        self.redelivered += delivery_id.delivery_count > 1


@dataclass(frozen=True, slots=True)
class Check:
    """A rule held against what happened."""

    claim: str
    """The rule with this demo's numbers in it, as a sentence or an equation."""
    holds: bool
    evidence: str = ""
    """The first few that break it."""


def outcome_of(verdict: Verdict, error: str | None, *, held_seconds: float, lock_seconds: float) -> Outcome:
    """How a delivery ended whose acknowledgement got this answer.

    `error` is None for an answer without error, else the error by its name. `held_seconds` is what went by
    between the poll, when the lock was running already, and the acknowledgement.
    """
    if held_seconds > lock_seconds and error in {None, LATE_ACKNOWLEDGEMENT_ERROR}:
        return Outcome.TIMED_OUT
    return Outcome.FAILED if error is not None else OUTCOME_OF_VERDICT[verdict]


def tally(deliveries: Iterable[Delivery]) -> Tally:
    """Count deliveries and how they ended."""
    total = Tally()
    for delivery in deliveries:
        total.note_delivery(delivery.id)
        total.outcomes[delivery.outcome] += 1
    return total


def audit(
    produced: Mapping[RecordId, JobKind], deliveries: Sequence[Delivery], members: Sequence[str]
) -> list[Check]:
    """Hold every rule against what happened; the sums first."""
    return [
        *_sums(len(produced), tally(deliveries)),
        _each_record_is_settled_once(produced, deliveries),
        _poison_is_what_is_rejected(produced, deliveries),
        _deliveries_are_counted_up(deliveries),
        _timed_out_records_go_to_others(deliveries),
        _everybody_and_everything_took_part(deliveries, members),
    ]


# ---- the sums


def _sums(produced: int, total: Tally) -> list[Check]:
    accepted, released, rejected, timed_out = (
        (total.outcomes[outcome], outcome.value)
        for outcome in (Outcome.ACCEPTED, Outcome.RELEASED, Outcome.REJECTED, Outcome.TIMED_OUT)
    )
    return [
        _sum(produced, "produced", accepted, rejected),
        _sum(total.redelivered, "delivered again", released, timed_out),
        _sum(total.delivered, "delivered", accepted, rejected, released, timed_out),
    ]


def _sum(whole: int, name: str, *parts: tuple[int, str]) -> Check:
    terms = " + ".join(f"{count:,} {part}" for count, part in parts)
    return Check(f"{whole:,} {name} = {terms}", holds=whole == sum(count for count, _ in parts))


# ---- record by record


def _each_record_is_settled_once(
    produced: Mapping[RecordId, JobKind], deliveries: Sequence[Delivery]
) -> Check:
    settled = Counter(delivery.id.record for delivery in deliveries if delivery.outcome in FINAL_OUTCOMES)
    known = {delivery.id.record for delivery in deliveries}
    offenders = [
        *(f"{_name(record)} never" for record in sorted(produced.keys() - settled.keys())),
        *(f"{_name(record)} {count} times" for record, count in sorted(settled.items()) if count > 1),
        *(f"{_name(record)} though nobody produced it" for record in sorted(known - produced.keys())),
    ]
    return _claim("every record was accepted or rejected exactly once, none is missing", offenders)


def _poison_is_what_is_rejected(
    produced: Mapping[RecordId, JobKind], deliveries: Sequence[Delivery]
) -> Check:
    poison = {record for record, kind in produced.items() if kind is JobKind.POISON}
    rejected = {delivery.id.record for delivery in deliveries if delivery.outcome is Outcome.REJECTED}
    offenders = [
        *(f"{_name(record)} was not rejected" for record in sorted(poison - rejected)),
        *(f"{_name(record)} is not poison" for record in sorted(rejected - poison)),
    ]
    return _claim(f"rejected were the {len(poison):,} poison records and no others", offenders)


def _deliveries_are_counted_up(deliveries: Sequence[Delivery]) -> Check:
    offenders = [
        f"{_name(record)}: {', '.join(f'{one.id.delivery_count} {one.outcome}' for one in history)}"
        for record, history in sorted(_histories(deliveries).items())
        if not _counts_up(history)
    ]
    return _claim("each record's deliveries count up from 1, and none comes after that", offenders)


def _timed_out_records_go_to_others(deliveries: Sequence[Delivery]) -> Check:
    offenders = [
        f"{_name(record)} came back to {earlier.member}"
        for record, history in sorted(_histories(deliveries).items())
        for earlier, later in itertools.pairwise(history)
        if earlier.outcome is Outcome.TIMED_OUT and later.member == earlier.member
    ]
    return _claim("each record whose lock expired went to another member", offenders)


def _everybody_and_everything_took_part(deliveries: Sequence[Delivery], members: Sequence[str]) -> Check:
    accepting = {delivery.member for delivery in deliveries if delivery.outcome is Outcome.ACCEPTED}
    seen = {delivery.outcome for delivery in deliveries}
    wanted = (*OUTCOME_OF_VERDICT.values(), Outcome.TIMED_OUT)
    offenders = [
        *(f"{member} accepted nothing" for member in members if member not in accepting),
        *(f"nothing was {outcome}" for outcome in wanted if outcome not in seen),
    ]
    return _claim("every member accepted records, and every way to end a delivery was seen", offenders)


def _histories(deliveries: Sequence[Delivery]) -> Mapping[RecordId, list[Delivery]]:
    histories: defaultdict[RecordId, list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda one: one.id):
        histories[delivery.id.record].append(delivery)
    return histories


def _counts_up(history: Sequence[Delivery]) -> bool:
    counts = [delivery.id.delivery_count for delivery in history]
    finals = [delivery.outcome in FINAL_OUTCOMES for delivery in history]
    return counts == list(range(1, len(history) + 1)) and finals == [False] * (len(history) - 1) + [True]


def _claim(claim: str, offenders: Sequence[str]) -> Check:
    shown = "; ".join(offenders[:SHOWN_OFFENDERS])
    more = f" and {len(offenders) - SHOWN_OFFENDERS:,} more" if len(offenders) > SHOWN_OFFENDERS else ""
    return Check(claim, holds=not offenders, evidence=shown + more)


def _name(record: RecordId) -> str:
    return f"record {record.partition}:{record.offset}"
