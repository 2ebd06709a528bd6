"""Why a share-partition stands still, by what is first in its window."""

from typing import Any

import pytest

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis import finding, most_pressing

PLACE = {"topicId": "T", "topicName": "orders"}


def share_partition(**said: Any) -> Item:
    usual = {
        "partition": 0,
        "lag": 10,
        "oldestAgeMs": 60_000,
        "reason": "",
        "inFlightCount": 1,
        "inFlightLimit": 2000,
    }
    return {**PLACE, **usual, **said}


def group(*member_ids: str, assigned: tuple[int, ...] = (0,)) -> Item:
    return {
        "members": [
            {
                "memberId": member_id,
                "clientId": "worker",
                "lastHeartbeatAgeMs": 1_500,
                "assignment": [{**PLACE, "partitions": assigned}],
            }
            for member_id in member_ids
        ]
    }


def session(member_id: str, *, idle_ms: int = 400) -> Item:
    return {"memberId": member_id, "idleMs": idle_ms, "partitions": [{**PLACE, "partitions": [0]}]}


def run(state: str, first: int, last: int, deliveries: int = 1, member_id: str | None = None) -> Item:
    return {
        "state": state,
        "firstOffset": first,
        "lastOffset": last,
        "deliveryCount": deliveries,
        "deliveryCountLimit": 5,
        "memberId": member_id,
        "clientId": member_id and "worker",
        "lockRemainingMs": member_id and 27_100,
        "lockDurationMs": member_id and 30_000,
    }


def test_a_record_that_is_held_is_told_with_its_holder_and_what_comes_next() -> None:
    # Given
    runs = [run("Acquired", 0, 499, 1, "alice"), run("Acknowledged", 500, 899), run("Available", 900, 900)]

    # When
    found = finding(group("alice"), share_partition(), runs, [session("alice")])

    # Then
    assert found.verdict == "alice (worker) holds offsets 0 to 499"
    assert found.facts == {
        "lag": "10 records",
        "blocked by": "offsets 0 to 499, Acquired, attempt 1 of 5",
        "behind it": "400 Acknowledged, 1 Available",
        "held by": "alice (worker), since 2.9 s, last heartbeat 1.5 s ago, last request 0.4 s ago",
        "next": "its lock ends in 27.1 s, then it is for any member: attempt 2 of 5",
    }


def test_of_a_poison_record_it_is_said_that_this_is_its_last_attempt() -> None:
    # When
    found = finding(
        group("alice"), share_partition(), [run("Acquired", 7, 7, 5, "alice")], [session("alice")]
    )

    # Then
    assert found.facts["next"].endswith("then it is archived: this is its last attempt")


def test_who_died_holds_on_until_the_lock_ends_and_is_said_to_be_gone() -> None:
    # When
    found = finding(group("bob"), share_partition(), [run("Acquired", 7, 7, 1, "alice")], [session("bob")])

    # Then
    assert (
        found.facts["held by"] == "alice (worker), since 2.9 s, not in the group any more, no share session"
    )


def test_a_full_window_is_named() -> None:
    # Given
    full = share_partition(inFlightCount=2000)

    # When
    found = finding(group("alice"), full, [run("Acquired", 0, 0, 1, "alice")], [session("alice")])

    # Then
    assert found.facts["window"].startswith("full, 2000 of 2000 in flight")


@pytest.mark.parametrize(
    ("members", "sessions", "coming"),
    [
        (
            ["alice"],
            [session("alice")],
            "the next fetch gets it, for the 3rd time; the last one came 0.4 s ago",
        ),
        (["alice"], [], "nothing, until a member that it is assigned to fetches"),
        ([], [], "nothing, until a member joins the group"),
    ],
)
def test_a_record_that_nobody_holds_waits_for_a_member(
    members: list[str], sessions: list[Item], coming: str
) -> None:
    # When
    found = finding(group(*members), share_partition(), [run("Available", 3, 3, 2)], sessions)

    # Then
    assert (found.verdict, found.facts["next"]) == ("offset 3: a member has to fetch", coming)


@pytest.mark.parametrize(
    ("described", "sessions", "verdict"),
    [
        (group(), [], "nobody consumes: the group has no members"),
        (group("alice", assigned=()), [], "nobody fetches: it is assigned to no member"),
        (
            group("alice"),
            [],
            "nobody fetches: it is assigned to alice (worker), without a share session for it",
        ),
        (group("alice"), [session("alice")], "nothing is in flight; the last fetch came 0.4 s ago"),
    ],
)
def test_where_nothing_is_in_flight_it_is_said_who_ought_to_fetch(
    described: Item, sessions: list[Item], verdict: str
) -> None:
    assert finding(described, share_partition(), [], sessions).verdict == verdict


def test_what_is_not_known_is_said_with_the_reason() -> None:
    # When
    found = finding(group("alice"), share_partition(lag=None, reason="no leader"), [], [])

    # Then
    assert (found.facts["lag"], found.facts["not known"]) == ("not known", "no leader")


def test_what_waited_longest_comes_first_and_what_is_done_with_not_at_all() -> None:
    # Given
    young, old = share_partition(partition=1, oldestAgeMs=1), share_partition(partition=2, oldestAgeMs=9)
    unknown, done = (
        share_partition(partition=3, lag=None, oldestAgeMs=None),
        share_partition(partition=4, lag=0),
    )

    # When
    found = most_pressing([young, unknown, done, old])

    # Then
    assert [each["partition"] for each in found] == [2, 1, 3]
