from collections.abc import Sequence
from typing import Final

from tests.demo.crash import Crash, audit_crash, audit_state_log
from tests.demo.ledger import Check, Delivery, DeliveryId, Outcome, RecordId

EARLY: Final = RecordId(0, 0)
CUT_OFF: Final = RecordId(0, 1)

DELIVERIES: Final = (
    Delivery("alice", DeliveryId(EARLY, 1), Outcome.ACCEPTED),
    Delivery("bob", DeliveryId(CUT_OFF, 1), Outcome.CUT_OFF),
    Delivery("alice", DeliveryId(CUT_OFF, 1), Outcome.ACCEPTED),
)
"""The last one is the new process's."""


def a_crash(*, accepted_by: Sequence[str] = ("alice",)) -> Crash:
    return Crash(
        killed_at=10.0,
        in_flight={1},
        overtaken=frozenset(),
        settled_before=frozenset({EARLY}),
        back_at=11.0,
        first_position_after=2,
        first_accepted_at=12.0,
        accepted_by=set(accepted_by),
    )


def broken(checks: Sequence[Check]) -> list[str]:
    return [check.claim for check in checks if not check.holds]


def test_a_kill_that_everything_survived_breaks_no_rule() -> None:
    # When
    checks = audit_crash(a_crash(), DELIVERIES)

    # Then
    assert broken(checks) == []
    assert [check.claim for check in checks] == [
        "kproxy was killed with 1 record in flight, of which 1 came back",
        "none of the 1 record settled before the kill came back",
        "who went on after the kill, never restarted: alice",
    ]


def test_a_demo_without_a_kill_is_not_the_demo() -> None:
    # When
    checks = audit_crash(None, DELIVERIES)

    # Then
    assert broken(checks) == ["kproxy was killed in the middle"]


def test_a_kill_with_nothing_in_flight_proves_nothing() -> None:
    # When
    checks = audit_crash(a_crash(), DELIVERIES[:1])

    # Then
    assert broken(checks) == ["kproxy was killed with 0 records in flight, of which 0 came back"]


def test_a_record_that_was_settled_before_the_kill_and_comes_back_is_named() -> None:
    # Given
    back_again = [*DELIVERIES, Delivery("bob", DeliveryId(EARLY, 2), Outcome.RELEASED)]

    # When
    checks = audit_crash(a_crash(), back_again)

    # Then
    assert broken(checks) == ["none of the 1 record settled before the kill came back"]
    assert checks[1].evidence == "record 0:0 to bob"


def test_members_that_all_stop_at_the_kill_break_a_rule() -> None:
    # When
    checks = audit_crash(a_crash(accepted_by=()), DELIVERIES)

    # Then
    assert broken(checks) == ["who went on after the kill, never restarted: nobody"]


def test_a_record_that_the_state_log_does_not_have_finished_is_named() -> None:
    # When
    check = audit_state_log({EARLY, CUT_OFF}, {EARLY})

    # Then
    assert not check.holds
    assert check.evidence == "not record 0:1"
