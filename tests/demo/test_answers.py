"""What Spark says, held against what the members said."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.demo.answers import (
    NEVER,
    TITLE_OF_OUTCOME,
    Answer,
    audit_redeliveries,
    audit_throughput,
    audit_verify,
    columns_of,
    fullest_rows,
    logged_endings,
    with_sessions_closed_as_released,
)
from tests.demo.jobs import JobKind
from tests.demo.ledger import BY_THE_KILL, Delivery, DeliveryId, Outcome, RecordId

ORDINARY: Final = RecordId(partition=0, offset=0)
BUSY: Final = RecordId(partition=0, offset=1)
POISON: Final = RecordId(partition=1, offset=0)
PRODUCED: Final = {ORDINARY: JobKind.ORDINARY, BUSY: JobKind.BUSY, POISON: JobKind.POISON}

TABLE: Final = """\
TIME  FIRST-OFFSET  OFFSET  RELEASED
t1    0             7       1
t2    12            700     30
t3    5             8       2
"""

VERIFIED: Final = Answer(
    exit_status=0,
    output="KIND  DETAIL\n",
    errors=json.dumps({"sharePartitions": 2, "differences": 0}) + "\n",
)

ENDINGS: Final = {
    ("alice", Outcome.ACCEPTED): 7,
    ("alice", Outcome.REJECTED): 1,
    ("bob", Outcome.ACCEPTED): 4,
    ("bob", Outcome.RELEASED): 2,
    ("bob", Outcome.TIMED_OUT): 3,
    ("bob", Outcome.CUT_OFF): 5,
}


def a_row_of_throughput(member: str, **counts: int) -> Mapping[str, str]:
    titles = (*TITLE_OF_OUTCOME.values(), *NEVER)
    named = {title: counts.get(title.lower().replace("-", "_"), 0) for title in titles}
    return {"CLIENT-ID": member, **{title: str(count) for title, count in named.items()}}


ALICE: Final = a_row_of_throughput("alice", accepted=7, rejected=1)
BOB: Final = a_row_of_throughput("bob", accepted=4, released=2, lock_timeouts=3)


def a_delivery(member: str, record: RecordId, delivery_count: int, outcome: Outcome) -> Delivery:
    return Delivery(member, DeliveryId(record, delivery_count), outcome)


# ---- tables


def test_a_table_is_cut_to_the_columns_that_are_asked_for() -> None:
    # When
    lines = list(columns_of(TABLE, ["TIME", "OFFSET"]))

    # Then
    assert lines == ["TIME  OFFSET", "t1    7", "t2    700", "t3    8"]


def test_the_last_column_may_be_wider_than_its_title() -> None:
    # When
    lines = list(columns_of("A  B\n1  23456\n", ["B", "A"]))

    # Then
    assert lines == ["B    A", "234561"]


def test_the_fullest_rows_are_those_with_the_highest_numbers() -> None:
    # When
    table = fullest_rows(TABLE, "RELEASED", 2)

    # Then
    assert [line.split()[0] for line in table.splitlines()] == ["TIME", "t2", "t3"]


def test_the_rows_of_an_answer_go_by_the_titles() -> None:
    # When
    rows = replace(VERIFIED, output=TABLE).rows

    # Then
    assert rows[1] == {"TIME": "t2", "FIRST-OFFSET": "12", "OFFSET": "700", "RELEASED": "30"}


# ---- verify


def test_a_log_and_a_kproxy_that_agree_break_no_rule() -> None:
    # When
    check = audit_verify(VERIFIED, share_partitions=2)

    # Then
    assert check.holds
    assert check.claim == "the running kproxy holds of 2 share-partitions what the state log says"


def test_a_difference_is_named() -> None:
    # When
    check = audit_verify(
        replace(VERIFIED, exit_status=5, output="KIND  DETAIL\ndifference  startOffset is 1\n"),
        share_partitions=2,
    )

    # Then
    assert not check.holds
    assert check.evidence == "difference  startOffset is 1"


def test_a_log_without_a_share_partition_that_was_consumed_breaks_the_rule() -> None:
    # When
    check = audit_verify(VERIFIED, share_partitions=3)

    # Then
    assert not check.holds
    assert check.evidence == "expected 3"


# ---- what the log has to have


def test_what_was_answered_is_in_the_log_as_the_member_said() -> None:
    # Given
    deliveries = [
        a_delivery("alice", BUSY, 1, Outcome.RELEASED),
        a_delivery("bob", BUSY, 2, Outcome.TIMED_OUT),
        a_delivery("alice", BUSY, 3, Outcome.ACCEPTED),
    ]

    # When
    endings = logged_endings(PRODUCED, deliveries, {BUSY})

    # Then
    assert endings == {
        ("alice", Outcome.RELEASED): 1,
        ("bob", Outcome.TIMED_OUT): 1,
        ("alice", Outcome.ACCEPTED): 1,
    }


@pytest.mark.parametrize(
    ("next_count", "ending"),
    [(1, Outcome.CUT_OFF), (2, Outcome.RELEASED)],
    ids=["nothing_was_durable", "the_release_was_durable"],
)
def test_what_was_cut_off_and_came_back_is_in_the_log_only_if_it_counted(
    next_count: int, ending: Outcome
) -> None:
    # Given
    deliveries = [
        a_delivery("alice", BUSY, 1, Outcome.CUT_OFF),
        a_delivery("bob", BUSY, next_count, Outcome.ACCEPTED),
    ]

    # When
    endings = logged_endings(PRODUCED, deliveries, {BUSY})

    # Then
    assert endings == {("alice", ending): 1, ("bob", Outcome.ACCEPTED): 1}


@pytest.mark.parametrize(
    ("record", "ending"), [(ORDINARY, Outcome.ACCEPTED), (POISON, Outcome.REJECTED)], ids=str
)
def test_what_was_cut_off_and_is_finished_ended_as_the_member_would_have_said(
    record: RecordId, ending: Outcome
) -> None:
    # When
    endings = logged_endings(PRODUCED, [a_delivery("alice", record, 1, Outcome.CUT_OFF)], {record})

    # Then
    assert endings == {("alice", ending): 1}


def test_what_was_cut_off_and_is_lost_is_not_in_the_log() -> None:
    # When
    endings = logged_endings(PRODUCED, [a_delivery("alice", ORDINARY, 1, Outcome.CUT_OFF)], frozenset())

    # Then
    assert endings == {("alice", Outcome.CUT_OFF): 1}


# ---- throughput


def test_counts_of_each_member_that_are_what_it_says_break_no_rule() -> None:
    # When
    check = audit_throughput([ALICE, BOB], ENDINGS)

    # Then
    assert check.holds
    assert check.claim == (
        "Spark counts of each member what it says itself: 11 accepted + 2 released + 1 rejected + 3 timed out"
    )


def test_a_member_may_have_had_two_member_ids() -> None:
    # Given
    first, second = (a_row_of_throughput("alice", accepted=accepted) for accepted in (3, 4))
    rejected = a_row_of_throughput("alice", rejected=1)

    # When
    check = audit_throughput([first, second, rejected, BOB], ENDINGS)

    # Then
    assert check.holds


@pytest.mark.parametrize(
    ("row", "evidence"),
    [
        (
            a_row_of_throughput("alice", accepted=6, rejected=1),
            "alice 7 accepted, the log 6",
        ),
        (
            a_row_of_throughput("alice", accepted=8, rejected=1),
            "alice 7 accepted, the log 8",
        ),
        (
            a_row_of_throughput("alice", accepted=7, rejected=1, released=1),
            "alice 0 released, the log 1",
        ),
        (
            a_row_of_throughput("alice", accepted=7, rejected=1, not_recorded=2),
            "alice 2 NOT-RECORDED",
        ),
        (
            a_row_of_throughput("alice", accepted=7, rejected=1, session_closes=4),
            "alice 4 SESSION-CLOSES",
        ),
    ],
)
def test_a_count_that_is_not_what_the_member_says_is_named(row: Mapping[str, str], evidence: str) -> None:
    # When
    check = audit_throughput([row, BOB], ENDINGS)

    # Then
    assert not check.holds
    assert check.evidence == evidence


def test_a_member_that_the_log_does_not_know_is_named() -> None:
    # When
    check = audit_throughput([ALICE], ENDINGS)

    # Then
    assert not check.holds
    assert check.evidence.startswith("bob 4 accepted, the log 0")


def test_somebody_whom_nobody_knows_is_named() -> None:
    # When
    check = audit_throughput([ALICE, BOB, a_row_of_throughput("-", released=1)], ENDINGS)

    # Then
    assert not check.holds
    assert check.evidence == "- 0 released, the log 1"


# ---- redeliveries


def a_cell(*, released: int = 0, lock_timeouts: int = 0) -> Mapping[str, str]:
    return {
        "REDELIVERED": str(released + lock_timeouts),
        "RELEASED": str(released),
        "LOCK-TIMEOUTS": str(lock_timeouts),
    }


def test_what_the_log_redelivered_and_what_was_cut_off_is_all_that_came_back() -> None:
    # When
    check = audit_redeliveries(
        [a_cell(released=2), a_cell(lock_timeouts=3)], ENDINGS, redelivered=10, cut_offs=BY_THE_KILL
    )

    # Then
    assert check.holds
    assert check.claim == "10 delivered again = 5 by Spark's count + 5 cut off by the kill"


def test_a_redelivery_that_nothing_explains_breaks_the_rule() -> None:
    # When
    check = audit_redeliveries(
        [a_cell(released=2), a_cell(lock_timeouts=3)], ENDINGS, redelivered=11, cut_offs=BY_THE_KILL
    )

    # Then
    assert not check.holds
    assert check.evidence == "that is not the sum"


def test_locks_that_expired_by_the_log_only_are_named() -> None:
    # When
    check = audit_redeliveries(
        [a_cell(released=1), a_cell(lock_timeouts=4)], ENDINGS, redelivered=10, cut_offs=BY_THE_KILL
    )

    # Then
    assert not check.holds
    assert check.evidence == "2 released, the log 1; 3 timed out, the log 4"


def test_what_a_member_lost_with_its_connection_counts_as_given_back() -> None:
    # Given
    row = {"CLIENT-ID": "alice", "RELEASED": "3", "SESSION-CLOSES": "2"}

    # When
    [counted_so] = with_sessions_closed_as_released([row])

    # Then
    assert counted_so == {"CLIENT-ID": "alice", "RELEASED": "5", "SESSION-CLOSES": "0"}
