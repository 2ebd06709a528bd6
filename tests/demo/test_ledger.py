"""The rules that the demo's closing table is held against."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.demo.jobs import JobKind, Verdict
from tests.demo.ledger import (
    BY_MOVES,
    Check,
    Delivery,
    DeliveryId,
    Outcome,
    RecordId,
    audit,
    outcome_of,
    tallies_of,
    together,
)

MEMBERS: Final = ("alice", "bob", "carol")
LOCK_SECONDS: Final = 15.0

ORDINARY: Final = RecordId(partition=0, offset=0)
BUSY: Final = RecordId(partition=0, offset=1)
POISON: Final = RecordId(partition=1, offset=0)
SLEPT_ON: Final = RecordId(partition=1, offset=1)

PRODUCED: Final = {
    ORDINARY: JobKind.ORDINARY,
    BUSY: JobKind.BUSY,
    POISON: JobKind.POISON,
    SLEPT_ON: JobKind.ORDINARY,
}


def a_delivery(member: str, record: RecordId, delivery_count: int, outcome: Outcome) -> Delivery:
    return Delivery(member, DeliveryId(record, delivery_count), outcome)


DELIVERIES: Final = (
    a_delivery("alice", ORDINARY, 1, Outcome.ACCEPTED),
    a_delivery("bob", BUSY, 1, Outcome.RELEASED),
    a_delivery("bob", BUSY, 2, Outcome.ACCEPTED),
    a_delivery("alice", POISON, 1, Outcome.REJECTED),
    a_delivery("carol", SLEPT_ON, 1, Outcome.TIMED_OUT),
    a_delivery("alice", SLEPT_ON, 2, Outcome.ACCEPTED),
    a_delivery("carol", RecordId(1, 2), 1, Outcome.ACCEPTED),
)
"""What a demo of five records can look like; the last record is carol's own."""

ALL_PRODUCED: Final = {**PRODUCED, RecordId(1, 2): JobKind.ORDINARY}


def broken(checks: Sequence[Check]) -> list[str]:
    return [check.claim for check in checks if not check.holds]


def evidence_of(claim: str, checks: Sequence[Check]) -> str:
    return next(check.evidence for check in checks if claim in check.claim)


# ---- how a delivery ended


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (Verdict.ACCEPT, Outcome.ACCEPTED),
        (Verdict.RELEASE, Outcome.RELEASED),
        (Verdict.REJECT, Outcome.REJECTED),
    ],
)
def test_an_acknowledgement_answered_without_error_ends_a_delivery_as_the_member_said(
    verdict: Verdict, outcome: Outcome
) -> None:
    # When
    ended = outcome_of(verdict, None, held_seconds=0.2, lock_seconds=LOCK_SECONDS)

    # Then
    assert ended is outcome


@pytest.mark.parametrize("error", ["INVALID_RECORD_STATE", "NOT_ANSWERED", "NETWORK_EXCEPTION"])
def test_an_acknowledgement_answered_with_an_error_while_the_lock_runs_has_failed(error: str) -> None:
    # When
    ended = outcome_of(Verdict.ACCEPT, error, held_seconds=15.0, lock_seconds=LOCK_SECONDS)

    # Then
    assert ended is Outcome.FAILED


@pytest.mark.parametrize("error", [None, "INVALID_RECORD_STATE"])
def test_an_acknowledgement_after_the_lock_counts_as_timed_out_even_if_its_answer_has_no_error(
    error: str | None,
) -> None:
    """Brokers pass over what lies below the start offset, without an error."""
    # When
    ended = outcome_of(Verdict.ACCEPT, error, held_seconds=15.1, lock_seconds=LOCK_SECONDS)

    # Then
    assert ended is Outcome.TIMED_OUT


def test_another_error_is_a_failure_even_after_the_lock() -> None:
    # When
    ended = outcome_of(Verdict.ACCEPT, "NOT_ANSWERED", held_seconds=18.0, lock_seconds=LOCK_SECONDS)

    # Then
    assert ended is Outcome.FAILED


# ---- counting


def test_a_tally_counts_deliveries_redeliveries_and_how_each_ended() -> None:
    # When
    counted = together(tallies_of(DELIVERIES).values())

    # Then
    assert counted.delivered == 7
    assert counted.redelivered == 2
    assert counted.outcomes == {
        Outcome.ACCEPTED: 4,
        Outcome.RELEASED: 1,
        Outcome.REJECTED: 1,
        Outcome.TIMED_OUT: 1,
    }


# ---- the rules


def test_a_demo_in_which_all_went_well_breaks_no_rule_and_says_its_sums() -> None:
    # When
    checks = audit(ALL_PRODUCED, DELIVERIES, MEMBERS)

    # Then
    assert broken(checks) == []
    assert [check.claim for check in checks[:3]] == [
        "5 produced = 4 accepted + 1 rejected",
        "2 delivered again = 1 released + 1 timed out",
        "7 delivered = 4 accepted + 1 rejected + 1 released + 1 timed out",
    ]


def test_a_record_that_nobody_settled_is_named() -> None:
    # Given
    without_the_ordinary_one = [one for one in DELIVERIES if one.id.record != ORDINARY]

    # When
    checks = audit(ALL_PRODUCED, without_the_ordinary_one, MEMBERS)

    # Then
    assert broken(checks) == [
        "5 produced = 3 accepted + 1 rejected",
        "every record was accepted or rejected exactly once, none is missing",
    ]
    assert evidence_of("exactly once", checks) == "record 0:0 never"


def test_a_record_that_two_members_accepted_is_named() -> None:
    # Given
    twice = [*DELIVERIES, a_delivery("bob", ORDINARY, 2, Outcome.ACCEPTED)]

    # When
    checks = audit(ALL_PRODUCED, twice, MEMBERS)

    # Then
    assert evidence_of("exactly once", checks) == "record 0:0 2 times"
    assert evidence_of("count up", checks) == "record 0:0: 1 accepted, 2 accepted"


def test_a_record_that_nobody_produced_is_named() -> None:
    # Given
    foreign = [*DELIVERIES, a_delivery("bob", RecordId(7, 7), 1, Outcome.ACCEPTED)]

    # When
    checks = audit(ALL_PRODUCED, foreign, MEMBERS)

    # Then
    assert evidence_of("exactly once", checks) == "record 7:7 though nobody produced it"


def test_a_delivery_that_no_member_saw_shows_in_the_counts() -> None:
    # Given
    first_delivery_unseen = [one for one in DELIVERIES if one.outcome is not Outcome.RELEASED]

    # When
    checks = audit(ALL_PRODUCED, first_delivery_unseen, MEMBERS)

    # Then
    assert evidence_of("count up", checks) == "record 0:1: 2 accepted"


def test_a_record_that_came_back_to_the_member_whose_lock_expired_is_named() -> None:
    # Given
    last = DELIVERIES[5]
    back_to_carol = [replace(one, member="carol") if one is last else one for one in DELIVERIES]

    # When
    checks = audit(ALL_PRODUCED, back_to_carol, MEMBERS)

    # Then
    assert broken(checks) == ["each record whose lock expired went to another member"]
    assert evidence_of("lock expired", checks) == "record 1:1 came back to carol"


def test_rejecting_anything_but_poison_breaks_a_rule_though_the_sums_are_the_same() -> None:
    # Given
    swapped = {Outcome.ACCEPTED: Outcome.REJECTED, Outcome.REJECTED: Outcome.ACCEPTED}
    mixed_up = [
        replace(one, outcome=swapped[one.outcome]) if one.id.record in {ORDINARY, POISON} else one
        for one in DELIVERIES
    ]

    # When
    checks = audit(ALL_PRODUCED, mixed_up, MEMBERS)

    # Then
    assert broken(checks) == ["rejected were the 1 poison records and no others"]
    assert evidence_of("poison", checks) == "record 1:0 was not rejected; record 0:0 is not poison"


def test_a_member_that_accepted_nothing_and_a_missing_way_to_end_are_named() -> None:
    # Given
    little = [a_delivery("alice", ORDINARY, 1, Outcome.ACCEPTED)]

    # When
    checks = audit({ORDINARY: JobKind.ORDINARY}, little, MEMBERS)

    # Then
    assert evidence_of("every way", checks) == (
        "bob accepted nothing; carol accepted nothing; nothing was released and 2 more"
    )


@st.composite
def correct_histories(draw: st.DrawFn, *, with_kill: bool) -> tuple[dict[RecordId, JobKind], list[Delivery]]:
    """Any demo in which all went well: what was produced, and every delivery."""
    produced, deliveries = dict(ALL_PRODUCED), list(DELIVERIES)
    for offset in range(draw(st.integers(0, 8))):
        record, member = RecordId(2, offset), draw(st.sampled_from(MEMBERS))
        produced[record] = draw(st.sampled_from([JobKind.ORDINARY, JobKind.POISON]))
        setbacks = draw(st.lists(st.sampled_from([Outcome.RELEASED, Outcome.TIMED_OUT]), max_size=3))
        if with_kill and draw(st.booleans()):
            setbacks.insert(draw(st.integers(0, len(setbacks))), Outcome.CUT_OFF)
        settled = Outcome.REJECTED if produced[record] is JobKind.POISON else Outcome.ACCEPTED
        delivery_count = 1
        for outcome in [*setbacks, settled]:
            deliveries.append(a_delivery(member, record, delivery_count, outcome))
            member = draw(st.sampled_from([other for other in MEMBERS if other != member]))
            delivery_count += outcome is not Outcome.CUT_OFF or draw(st.booleans())
    return produced, draw(st.permutations(deliveries))


@given(correct_histories(with_kill=True))
def test_no_rule_is_broken_whatever_the_order_in_which_members_tell(
    history: tuple[dict[RecordId, JobKind], list[Delivery]],
) -> None:
    # Given
    produced, deliveries = history

    # When
    checks = audit(produced, deliveries, MEMBERS)

    # Then
    assert broken(checks) == []


@given(correct_histories(with_kill=False), st.data())
def test_any_one_delivery_missing_doubled_or_not_ended_breaks_a_rule(
    history: tuple[dict[RecordId, JobKind], list[Delivery]], data: st.DataObject
) -> None:
    """Without a kill: a delivery next to one that was cut off may have had the same count, and leave no trace."""
    # Given
    produced, deliveries = history
    victim = data.draw(st.sampled_from(deliveries))
    others = [one for one in deliveries if one is not victim]
    stand_ins = data.draw(
        st.sampled_from(
            [
                [],
                [victim, victim],
                [replace(victim, outcome=Outcome.HELD)],
                [replace(victim, outcome=Outcome.FAILED)],
            ]
        )
    )

    # When
    checks = audit(produced, list(itertools.chain(others, stand_ins)), MEMBERS)

    # Then
    assert broken(checks) != []


# ---- what the kill of kproxy cut off


CUT_OFF: Final = (
    *DELIVERIES[1:],
    a_delivery("bob", ORDINARY, 1, Outcome.CUT_OFF),
    a_delivery("alice", ORDINARY, 1, Outcome.ACCEPTED),
)
"""The same demo, in which kproxy was killed while bob held the ordinary record."""


def test_a_delivery_that_was_cut_off_comes_back_with_the_same_count_and_has_its_place_in_the_sums() -> None:
    # When
    checks = audit(ALL_PRODUCED, CUT_OFF, MEMBERS)

    # Then
    assert broken(checks) == []
    assert [check.claim for check in checks[1:3]] == [
        "3 delivered again = 1 released + 1 timed out + 1 cut off by the kill",
        "8 delivered = 4 accepted + 1 rejected + 1 released + 1 timed out + 1 cut off by the kill",
    ]


def test_a_count_that_goes_down_or_jumps_after_the_kill_is_named() -> None:
    # Given
    jumping = [*CUT_OFF[:-1], a_delivery("alice", ORDINARY, 3, Outcome.ACCEPTED)]

    # When
    checks = audit(ALL_PRODUCED, jumping, MEMBERS)

    # Then
    assert evidence_of("count up", checks) == "record 0:0: 1 cut off, 3 accepted"


def test_a_record_that_was_cut_off_twice_by_one_kill_is_named() -> None:
    # When
    checks = audit(ALL_PRODUCED, [*CUT_OFF, CUT_OFF[-2]], MEMBERS)

    # Then
    assert evidence_of("count up", checks) == "record 0:0: 1 cut off, 1 cut off, 1 accepted"


def test_the_same_count_twice_without_a_kill_between_is_named() -> None:
    # Given
    doubled = [*DELIVERIES[1:], a_delivery("bob", ORDINARY, 1, Outcome.RELEASED), DELIVERIES[0]]

    # When
    checks = audit(ALL_PRODUCED, doubled, MEMBERS)

    # Then
    assert evidence_of("count up", checks) == "record 0:0: 1 released, 1 accepted"


def test_a_group_that_moves_twice_may_cut_a_record_off_twice() -> None:
    # When
    checks = audit(ALL_PRODUCED, [*CUT_OFF, CUT_OFF[-2]], MEMBERS, cut_offs=BY_MOVES)

    # Then
    assert broken(checks) == []
    assert "2 cut off when the group moved" in checks[1].claim


def test_what_was_cut_off_and_did_not_come_back_is_settled_if_the_state_log_says_so() -> None:
    # When
    checks = audit(ALL_PRODUCED, CUT_OFF[:-1], MEMBERS, finished={ORDINARY})

    # Then
    assert broken(checks) == []
    assert checks[0].claim == "5 produced = 3 accepted + 1 rejected + 1 finished, their answer lost"


def test_what_was_cut_off_and_did_not_come_back_is_lost_if_the_state_log_says_nothing() -> None:
    # When
    checks = audit(ALL_PRODUCED, CUT_OFF[:-1], MEMBERS)

    # Then
    assert evidence_of("exactly once", checks) == "record 0:0 never"
    assert "5 produced = 3 accepted + 1 rejected" in broken(checks)
