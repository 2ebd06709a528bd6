from collections.abc import Sequence
from typing import Final

from tests.demo.ledger import Check, Delivery, DeliveryId, Outcome, RecordId
from tests.demo.outage import THE_ONLY_ONE, Outage, OutageKind, audit_outages, audit_state_log

EARLY: Final = RecordId(0, 0)
CUT_OFF: Final = RecordId(0, 1)

DELIVERIES: Final = (
    Delivery("alice", DeliveryId(EARLY, 1), Outcome.ACCEPTED),
    Delivery("bob", DeliveryId(CUT_OFF, 1), Outcome.CUT_OFF),
    Delivery("alice", DeliveryId(CUT_OFF, 1), Outcome.ACCEPTED),
)
"""The last one is the new process's."""


KILL: Final = (OutageKind.KILL,)


def a_kill(kproxy: str = THE_ONLY_ONE, *, accepted_by: Sequence[str] = ("alice",)) -> Outage:
    return Outage(
        kproxy=kproxy,
        kind=OutageKind.KILL,
        began_at=10.0,
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
    checks = audit_outages([a_kill()], DELIVERIES, KILL)

    # Then
    assert broken(checks) == []
    assert [check.claim for check in checks] == [
        "kproxy was killed with 1 record in flight, of which 1 came back",
        "none of the 1 record settled before the kill came back",
        "who went on after the kill, never restarted: alice",
    ]


def test_a_demo_without_a_kill_is_not_the_demo() -> None:
    # When
    checks = audit_outages([], DELIVERIES, KILL)

    # Then
    assert broken(checks) == ["kproxy was killed in the middle"]


def test_a_kill_with_nothing_in_flight_proves_nothing() -> None:
    # When
    checks = audit_outages([a_kill()], DELIVERIES[:1], KILL)

    # Then
    assert broken(checks) == ["kproxy was killed with 0 records in flight, of which 0 came back"]


def test_a_record_that_was_settled_before_the_kill_and_comes_back_is_named() -> None:
    # Given
    back_again = [*DELIVERIES, Delivery("bob", DeliveryId(EARLY, 2), Outcome.RELEASED)]

    # When
    checks = audit_outages([a_kill()], back_again, KILL)

    # Then
    assert broken(checks) == ["none of the 1 record settled before the kill came back"]
    assert checks[1].evidence == "record 0:0 to bob"


def test_members_that_all_stop_at_the_kill_break_a_rule() -> None:
    # When
    checks = audit_outages([a_kill(accepted_by=())], DELIVERIES, KILL)

    # Then
    assert broken(checks) == ["who went on after the kill, never restarted: nobody"]


def test_a_record_that_the_state_log_does_not_have_finished_is_named() -> None:
    # When
    check = audit_state_log({EARLY, CUT_OFF}, {EARLY})

    # Then
    assert not check.holds
    assert check.evidence == "not record 0:1"


# ---- one of several kproxies


def a_restart(*, in_flight: frozenset[int] = frozenset()) -> Outage:
    return Outage(
        kproxy="kproxy 1",
        kind=OutageKind.RESTART,
        began_at=20.0,
        in_flight=set(in_flight),
        overtaken=frozenset(),
        settled_before=frozenset({EARLY}),
        first_position_after=3,
        accepted_by={"bob"},
        successor="kproxy 3",
        back_at=24.0,
    )


def test_each_outage_of_several_kproxies_says_who_went_and_who_took_over() -> None:
    # Given
    killed = a_kill("kproxy 2")
    killed.successor = "kproxy 1"

    # When
    checks = audit_outages([killed, a_restart()], DELIVERIES, (OutageKind.KILL, OutageKind.RESTART))

    # Then
    assert broken(checks) == []
    assert [check.claim for check in checks if "kproxy" in check.claim] == [
        "kproxy 2 was killed with 1 record in flight, of which 1 came back",
        "kproxy 1 took over from kproxy 2, which came back",
        "kproxy 1 was restarted with 0 records in flight, of which 0 came back",
        "kproxy 3 took over from kproxy 1, which came back",
    ]


def test_what_was_in_flight_when_the_group_went_back_is_told_apart() -> None:
    # Given
    moved = Delivery("bob", DeliveryId(RecordId(0, 2), 1), Outcome.CUT_OFF)
    again = Delivery("alice", DeliveryId(RecordId(0, 2), 1), Outcome.ACCEPTED)
    killed = a_kill("kproxy 2")
    killed.in_flight.add(len(DELIVERIES))

    # When
    first, *_ = audit_outages([killed], [*DELIVERIES, moved, again], KILL)

    # Then
    assert first.claim == (
        "kproxy 2 was killed with 1 record in flight and 1 when the group moved again, of which 2 came back"
    )


def test_a_kproxy_from_which_nobody_takes_over_breaks_a_rule() -> None:
    # When
    checks = audit_outages([a_kill("kproxy 2")], DELIVERIES, KILL)

    # Then
    assert broken(checks) == ["nobody took over from kproxy 2, which came back"]


def test_a_restart_that_never_came_is_not_the_demo_of_several() -> None:
    # When
    checks = audit_outages([a_kill("kproxy 2")], DELIVERIES, (OutageKind.KILL, OutageKind.RESTART))

    # Then
    assert broken(checks) == ["kproxy was killed and restarted in the middle"]
