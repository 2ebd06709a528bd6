"""Findings as fields."""

from kproxy.clients.diagnosis.fields import fields_of, member_fields
from tests.unit.clients.diagnosis.test_findings import NOON_MS, found_of, group, member, run, session


def test_who_holds_the_record_that_blocks_and_until_when_are_fields() -> None:
    # When
    found = fields_of(
        found_of(
            group("alice"),
            [run("Acquired", 0, 0, 5, "alice"), run("Available", 1, 9, 1)],
            [session("alice")],
        )
    )

    # Then
    assert (found["groupId"], found["topicName"], found["partition"], found["lag"]) == (
        "workers",
        "orders",
        0,
        10,
    )
    assert found["blockedBy"] == {
        "firstOffset": 0,
        "lastOffset": 0,
        "state": "Acquired",
        "deliveryCount": 5,
        "deliveryCountLimit": 5,
        "lastAttempt": True,
    }
    assert found["behind"] == {"Available": 9}
    alice = {
        "memberId": "alice",
        "clientId": "worker",
        "clientHost": "10.0.0.7",
        "lastHeartbeatAgeMs": 1_500,
        "sessionEndsAtMs": NOON_MS + 43_500,
        "silent": False,
        "lastRequestAgeMs": 400,
    }
    lock = {"heldMs": 2_900, "lockRemainingMs": 27_100, "lockEndsAtMs": NOON_MS + 27_100}
    assert found["holder"] == {**alice, "inGroup": True, **lock}
    assert found["assignedTo"] == [alice]


def test_a_holder_that_is_no_member_any_more_has_what_its_records_tell() -> None:
    # When
    found = fields_of(found_of(group(), [run("Acquired", 0, 0, 1, "alice")], []))

    # Then
    holder = found["holder"]
    assert (holder["memberId"], holder["inGroup"], holder["lastRequestAgeMs"]) == ("alice", False, None)


def test_nothing_in_flight_is_no_field_left_out() -> None:
    # When
    found = fields_of(found_of(group("alice"), [], []))

    # Then
    assert (found["blockedBy"], found["holder"], found["behind"]) == (None, None, {})


def test_what_an_older_kproxy_does_not_tell_is_none() -> None:
    # Given
    older = {name: value for name, value in member("alice").items() if name != "sessionRemainingMs"}

    # Then
    assert member_fields(older, now_ms=NOON_MS)["sessionEndsAtMs"] is None
