"""What happened to each record, and the rules that the sums of the demo obey. Pure.

A *delivery* is one record in the hands of one member, known by the record and its delivery count. It ends in
one way: the member accepts, releases or rejects the record and is told so without an error, or holds it for
longer than its lock. A released record and one whose lock ran out are delivered again; an accepted or
rejected one never (KIP-932, "In-flight records").

Or kproxy is killed before it has answered, or another one takes the group over: the delivery is *cut off*. Who holds a
record is not durable, so the record is delivered again, and may have the same delivery count. Unless the
acknowledgement was durable already and only its answer was lost: then the record is finished, and the state log has
to say so.

A late acknowledgement changes nothing, and its answer says little: a record that another member has settled
meanwhile may lie below the share-partition's start offset, where brokers pass over acknowledgements without
an error. So a delivery counts as timed out by the clock of its member, and the record has to be settled by
another one.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
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
    CUT_OFF = "cut off"
    """In flight when kproxy was killed, or the group moved: its acknowledgement was not answered, or with an error."""
    FAILED = "failed"
    """The acknowledgement was answered with an error that nothing explains, or not at all."""


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

    def note_delivery(self, *, is_first: bool) -> None:
        """Count a delivery, the first of its record or not, whose outcome is not counted yet."""
        self.delivered += 1
        self.redelivered += not is_first

    def add(self, other: "Tally") -> None:
        """Count what another one has counted."""
        self.delivered += other.delivered
        self.redelivered += other.redelivered
        self.outcomes += other.outcomes


@dataclass(frozen=True, slots=True)
class CutOffs:
    """What may have cut deliveries off."""

    by: str = "by the kill"
    title: str = "in flight when kproxy was killed"
    """What the closing table calls such deliveries."""
    may_repeat: bool = False
    """Whether a record may be cut off more than once."""
    may_close_sessions: bool = False
    """Whether who serves the group can outlive a member's connection, and give back what it held."""


BY_THE_KILL: Final = CutOffs()
BY_MOVES: Final = CutOffs(
    "when the group moved", "in flight when the group moved", may_repeat=True, may_close_sessions=True
)
"""Of a group that goes from one kproxy to another: from the dead one, and when one comes back or is restarted."""


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


def tallies_of(deliveries: Iterable[Delivery]) -> dict[str, Tally]:
    """Count deliveries and how they ended, by member."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for history in histories_of(deliveries).values():
        for position, delivery in enumerate(history):
            tallies[delivery.member].note_delivery(is_first=position == 0)
            tallies[delivery.member].outcomes[delivery.outcome] += 1
    return dict(tallies)


def together(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of them."""
    total = Tally()
    for one in tallies:
        total.add(one)
    return total


def records_without_answer(deliveries: Iterable[Delivery]) -> frozenset[RecordId]:
    """Return the records that were cut off and did not come back: finished, or lost."""
    histories = histories_of(deliveries).items()
    return frozenset(record for record, history in histories if history[-1].outcome is Outcome.CUT_OFF)


def audit(
    produced: Mapping[RecordId, JobKind],
    deliveries: Sequence[Delivery],
    members: Sequence[str],
    finished: AbstractSet[RecordId] = frozenset(),
    cut_offs: CutOffs = BY_THE_KILL,
) -> list[Check]:
    """Hold every rule against what happened; the sums first.

    `finished` are the records that are finished according to the state log. It is asked only about those that
    were cut off and did not come back.
    """
    unanswered = records_without_answer(deliveries) & finished
    return [
        *_sums(len(produced), together(tallies_of(deliveries).values()), len(unanswered), cut_offs),
        _each_record_is_settled_once(produced, deliveries, unanswered),
        _poison_is_what_is_rejected(produced, deliveries, unanswered),
        _deliveries_are_counted_up(deliveries, unanswered, cut_offs),
        _timed_out_records_go_to_others(deliveries),
        _everybody_and_everything_took_part(deliveries, members),
    ]


# ---- the sums


def _sums(produced: int, total: Tally, unanswered: int, cut_offs: CutOffs) -> list[Check]:
    accepted, released, rejected, timed_out = (
        (total.outcomes[outcome], outcome.value)
        for outcome in (Outcome.ACCEPTED, Outcome.RELEASED, Outcome.REJECTED, Outcome.TIMED_OUT)
    )
    came_back = (total.outcomes[Outcome.CUT_OFF] - unanswered, f"cut off {cut_offs.by}")
    kill = [came_back] if total.outcomes[Outcome.CUT_OFF] else []
    lost = [(unanswered, "finished, their answer lost")] if unanswered else []
    return [
        _sum(produced, "produced", accepted, rejected, *lost),
        _sum(total.redelivered, "delivered again", released, timed_out, *kill),
        _sum(total.delivered, "delivered", accepted, rejected, released, timed_out, *kill, *lost),
    ]


def _sum(whole: int, name: str, *parts: tuple[int, str]) -> Check:
    terms = " + ".join(f"{count:,} {part}" for count, part in parts)
    return Check(f"{whole:,} {name} = {terms}", holds=whole == sum(count for count, _ in parts))


# ---- record by record


def _each_record_is_settled_once(
    produced: Mapping[RecordId, JobKind], deliveries: Sequence[Delivery], unanswered: AbstractSet[RecordId]
) -> Check:
    settled = Counter(delivery.id.record for delivery in deliveries if delivery.outcome in FINAL_OUTCOMES)
    settled.update(unanswered)
    known = {delivery.id.record for delivery in deliveries}
    offenders = [
        *(f"{name_of(record)} never" for record in sorted(produced.keys() - settled.keys())),
        *(f"{name_of(record)} {count} times" for record, count in sorted(settled.items()) if count > 1),
        *(f"{name_of(record)} though nobody produced it" for record in sorted(known - produced.keys())),
    ]
    return claim_that("every record was accepted or rejected exactly once, none is missing", offenders)


def _poison_is_what_is_rejected(
    produced: Mapping[RecordId, JobKind], deliveries: Sequence[Delivery], unanswered: AbstractSet[RecordId]
) -> Check:
    poison = {record for record, kind in produced.items() if kind is JobKind.POISON}
    rejected = {delivery.id.record for delivery in deliveries if delivery.outcome is Outcome.REJECTED}
    offenders = [
        *(f"{name_of(record)} was not rejected" for record in sorted(poison - rejected - unanswered)),
        *(f"{name_of(record)} is not poison" for record in sorted(rejected - poison)),
    ]
    return claim_that(f"rejected were the {len(poison):,} poison records and no others", offenders)


def _deliveries_are_counted_up(
    deliveries: Sequence[Delivery], unanswered: AbstractSet[RecordId], cut_offs: CutOffs
) -> Check:
    offenders = [
        f"{name_of(record)}: {', '.join(f'{one.id.delivery_count} {one.outcome}' for one in history)}"
        for record, history in sorted(histories_of(deliveries).items())
        if not (_counts_up(history, cut_offs) and _ends_once(history, unanswered))
    ]
    has_cut_off = any(delivery.outcome is Outcome.CUT_OFF for delivery in deliveries)
    exception = "one cut off may not count" if has_cut_off else "and none comes after that"
    return claim_that(f"each record's deliveries count up from 1, {exception}", offenders)


def _timed_out_records_go_to_others(deliveries: Sequence[Delivery]) -> Check:
    offenders = [
        f"{name_of(record)} came back to {earlier.member}"
        for record, history in sorted(histories_of(deliveries).items())
        for earlier, later in itertools.pairwise(history)
        if earlier.outcome is Outcome.TIMED_OUT and later.member == earlier.member
    ]
    return claim_that("each record whose lock expired went to another member", offenders)


def _everybody_and_everything_took_part(deliveries: Sequence[Delivery], members: Sequence[str]) -> Check:
    accepting = {delivery.member for delivery in deliveries if delivery.outcome is Outcome.ACCEPTED}
    seen = {delivery.outcome for delivery in deliveries}
    wanted = (*OUTCOME_OF_VERDICT.values(), Outcome.TIMED_OUT)
    offenders = [
        *(f"{member} accepted nothing" for member in members if member not in accepting),
        *(f"nothing was {outcome}" for outcome in wanted if outcome not in seen),
    ]
    return claim_that("every member accepted records, and every way to end a delivery was seen", offenders)


def histories_of(deliveries: Iterable[Delivery]) -> Mapping[RecordId, list[Delivery]]:
    """Return the deliveries of each record in order."""
    # Of two deliveries with the same count the one that was cut off came first.
    in_order = sorted(deliveries, key=lambda one: (one.id, one.outcome is not Outcome.CUT_OFF))
    histories: defaultdict[RecordId, list[Delivery]] = defaultdict(list)
    for delivery in in_order:
        histories[delivery.id.record].append(delivery)
    return histories


def _counts_up(history: Sequence[Delivery], cut_offs: CutOffs) -> bool:
    """By one each time; after a delivery that was cut off, which one kill can do once, by one or not at all."""
    if sum(delivery.outcome is Outcome.CUT_OFF for delivery in history) > 1 and not cut_offs.may_repeat:
        return False
    steps = (
        (earlier.outcome, later.id.delivery_count - earlier.id.delivery_count)
        for earlier, later in itertools.pairwise(history)
    )
    return history[0].id.delivery_count == 1 and all(
        step == 1 or (step == 0 and outcome is Outcome.CUT_OFF) for outcome, step in steps
    )


def _ends_once(history: Sequence[Delivery], unanswered: AbstractSet[RecordId]) -> bool:
    *earlier, last = history
    is_ended = last.outcome in FINAL_OUTCOMES or last.id.record in unanswered
    return is_ended and not any(delivery.outcome in FINAL_OUTCOMES for delivery in earlier)


def claim_that(claim: str, offenders: Sequence[str]) -> Check:
    """A rule that holds when nothing breaks it, with the first few that do."""
    shown = "; ".join(offenders[:SHOWN_OFFENDERS])
    more = f" and {len(offenders) - SHOWN_OFFENDERS:,} more" if len(offenders) > SHOWN_OFFENDERS else ""
    return Check(claim, holds=not offenders, evidence=shown + more)


def name_of(record: RecordId) -> str:
    """How a record is called in an evidence."""
    return f"record {record.partition}:{record.offset}"
