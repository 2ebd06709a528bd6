"""Why a share-partition stands still, by what is first in its window."""

from typing import Any

import pytest

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.findings import Finding, Situation, finding, most_pressing

PLACE = {"topicId": "T", "topicName": "orders"}
NOON_MS = 1_795_262_400_000


def share_partition(**said: Any) -> Item:
    usual = {
        "partition": 0,
        "lag": 10,
        "oldestAgeMs": 60_000,
        "oldestAgeExact": True,
        "reason": "",
        "startOffset": 0,
        "endOffset": 900,
        "logEndOffset": 910,
        "inFlightCount": 1,
        "inFlightLimit": 2000,
    }
    return {**PLACE, **usual, **said}


def member(member_id: str, *, assigned: tuple[int, ...] = (0,), heartbeat_ms: int = 1_500) -> Item:
    return {
        "memberId": member_id,
        "clientId": "worker",
        "clientHost": "/10.0.0.7",
        "subscribedTopicNames": ["orders"],
        "lastHeartbeatAgeMs": heartbeat_ms,
        "heartbeatIntervalMs": 5_000,
        "sessionRemainingMs": 43_500,
        "assignment": [{**PLACE, "partitions": assigned}],
    }


def group(*member_ids: str, assigned: tuple[int, ...] = (0,)) -> Item:
    return {"groupId": "workers", "members": [member(each, assigned=assigned) for each in member_ids]}


def session(member_id: str, *, idle_ms: int = 400, is_fetching: bool = False) -> Item:
    partitions = [{**PLACE, "partitions": [0]}]
    return {"memberId": member_id, "idleMs": idle_ms, "fetching": is_fetching, "partitions": partitions}


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


def found_of(described: Item, runs: list[Item], sessions: list[Item], **said: Any) -> Finding:
    return finding(Situation(described, share_partition(**said), runs, sessions, NOON_MS))


def test_a_record_that_is_held_is_told_with_its_holder_and_what_comes_next() -> None:
    # Given
    runs = [run("Acquired", 0, 499, 1, "alice"), run("Acknowledged", 500, 899), run("Available", 900, 900)]

    # When
    found = found_of(group("alice"), runs, [session("alice")])

    # Then
    assert found.verdict == "alice (worker) holds offsets 0 to 499"
    assert found.facts == {
        "lag": "10 records",
        "blocked by": "offsets 0 to 499, Acquired, attempt 1 of 5",
        "behind it": "400 Acknowledged, 1 Available, 9 never fetched",
        "held by": "alice (worker), for 2.9 s, since 11:59:57 UTC, last heartbeat 1.5 s ago, last request 0.4 s ago",
        "next": "its lock ends in 27.1 s, at 12:00:27 UTC, then it is for any member: attempt 2 of 5",
    }


def test_of_a_poison_record_it_is_said_that_this_is_its_last_attempt() -> None:
    # When
    found = found_of(group("alice"), [run("Acquired", 7, 7, 5, "alice")], [session("alice")])

    # Then
    assert found.facts["blocked by"] == "offset 7, Acquired, attempt 5 of 5, the last one"
    assert found.facts["next"] == (
        "its lock ends in 27.1 s, at 12:00:27 UTC: unless it is accepted before, it is archived then, "
        "or when it is released, and never delivered again"
    )


def test_who_died_holds_on_until_the_lock_ends_and_is_said_to_be_gone() -> None:
    # When
    found = found_of(group("bob"), [run("Acquired", 7, 7, 1, "alice")], [session("bob")])

    # Then
    assert (
        found.facts["held by"]
        == "alice (worker), for 2.9 s, since 11:59:57 UTC, not in the group any more, no share session"
    )


def test_records_whose_partition_went_to_another_member_are_told_with_that_one() -> None:
    # Given
    described = {"groupId": "workers", "members": [member("alice", assigned=(1,)), member("bob")]}

    # When
    found = found_of(described, [run("Acquired", 7, 7, 1, "alice")], [session("alice")])

    # Then
    assert found.facts["assigned to"] == "bob (worker), not to its holder any more"


def test_a_partition_that_another_member_has_beside_its_holder_is_told_with_that_one() -> None:
    # When
    found = found_of(group("alice", "bob"), [run("Acquired", 7, 7, 1, "alice")], [session("alice")])

    # Then
    assert found.facts["assigned to"] == "bob (worker), and to its holder"


def test_locks_that_last_long_are_told_with_the_setting() -> None:
    # Given
    held = {**run("Acquired", 7, 7, 1, "alice"), "lockDurationMs": 1_800_000}

    # When
    found = found_of(group("alice"), [held], [session("alice")])

    # Then
    assert (
        found.facts["locks"] == "last 30m00s here, by share.record.lock.duration.ms (30.0 s unless it is set)"
    )


def test_a_full_window_is_named() -> None:
    # When
    found = found_of(
        group("alice"), [run("Acquired", 0, 0, 1, "alice")], [session("alice")], inFlightCount=2000
    )

    # Then
    assert found.facts["window"].startswith("full: 2000 records in flight")


@pytest.mark.parametrize(
    ("members", "sessions", "who", "coming"),
    [
        (
            ["alice"],
            [session("alice")],
            "",
            "the next fetch gets it, attempt 3 of 5; the last fetch came 0.4 s ago",
        ),
        (
            ["alice"],
            [],
            "; it is assigned to alice (worker), without a share session for it",
            "nothing, until a member that it is assigned to fetches",
        ),
        (
            ["alice"],
            [session("alice", idle_ms=106_000)],
            "; it is assigned to alice (worker), and nobody has fetched for 1m46s",
            "nothing, until its member fetches again: it works on other records for long, or hangs",
        ),
        ([], [], "; the group has no members", "nothing, until a member joins the group"),
    ],
)
def test_a_record_that_nobody_holds_waits_for_a_member(
    members: list[str], sessions: list[Item], who: str, coming: str
) -> None:
    # When
    found = found_of(group(*members), [run("Available", 3, 3, 2)], sessions)

    # Then
    assert (found.verdict, found.facts["next"]) == (f"offset 3: a member has to fetch{who}", coming)
    assert found.facts["blocked by"] == "offset 3, Available, 2 of 5 attempts over"


@pytest.mark.parametrize(
    ("described", "sessions", "verdict", "coming"),
    [
        (
            group(),
            [],
            "nobody consumes: the group has no members",
            "nothing, until a member joins the group",
        ),
        (
            group("alice", assigned=()),
            [],
            "nobody fetches: it is assigned to no member",
            "nothing, until a member that it is assigned to fetches",
        ),
        (
            {
                "groupId": "workers",
                "members": [{**member("alice", assigned=()), "subscribedTopicNames": ["paid"]}],
            },
            [],
            "nobody fetches: it is assigned to no member",
            "nothing, until a member subscribes to the topic: none does",
        ),
        (
            group("alice"),
            [],
            "nobody fetches: it is assigned to alice (worker), without a share session for it",
            "nothing, until a member that it is assigned to fetches",
        ),
        (
            group("alice"),
            [session("alice")],
            "nothing is in flight; the last fetch came 0.4 s ago",
            "the next fetch gets what waits, from offset 60 on, for the first time",
        ),
        (
            group("alice"),
            [session("alice", idle_ms=106_000)],
            "nothing is in flight, and nobody has fetched for 1m46s",
            "nothing, until its member fetches again: it works on other records for long, or hangs",
        ),
        (
            group("alice"),
            [session("alice", idle_ms=18_200, is_fetching=True)],
            "nothing is in flight; a fetch has waited here for 18.2 s",
            "the fetch that waits gets what waits, from offset 60 on, once that is fetch.min.bytes or its wait over",
        ),
        (
            {"groupId": "workers", "members": [member("alice", heartbeat_ms=106_000)]},
            [session("alice", idle_ms=106_000)],
            "nothing is in flight, and nobody has fetched for 1m46s",
            "nothing, until its member is back, or another subscribes to the topic: no other that is heard does",
        ),
        (
            {
                "groupId": "workers",
                "members": [member("alice", heartbeat_ms=106_000), member("bob", assigned=())],
            },
            [session("alice", idle_ms=106_000)],
            "nothing is in flight, and nobody has fetched for 1m46s",
            "nothing, until its member is back, or the session of its member ends: it goes to another member then",
        ),
    ],
)
def test_where_nothing_is_in_flight_it_is_said_who_ought_to_fetch_and_what_comes_next(
    described: Item, sessions: list[Item], verdict: str, coming: str
) -> None:
    # When
    found = found_of(described, [], sessions, startOffset=60)

    # Then
    assert (found.verdict, found.facts["next"]) == (verdict, coming)


def test_where_nothing_is_in_flight_the_member_that_has_the_partition_is_named() -> None:
    # When
    found = found_of(group("alice"), [], [session("alice", idle_ms=106_000)])

    # Then
    assert found.facts["assigned to"] == "alice (worker), last heartbeat 1.5 s ago, last request 1m46s ago"


def test_what_is_not_known_is_said_with_the_reason() -> None:
    # When
    found = found_of(group("alice"), [], [], lag=None, reason="no leader")

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


def test_a_member_whose_fetch_waits_is_not_told_with_a_request_of_long_ago() -> None:
    # Given
    sessions = [session("alice", idle_ms=18_200, is_fetching=True)]

    # When
    waiting = found_of(group("alice"), [run("Available", 7, 7)], sessions)
    held = found_of(group("alice"), [run("Acquired", 7, 7, 1, "alice")], sessions)

    # Then
    assert waiting.verdict == "offset 7: a member has to fetch"
    assert waiting.facts["assigned to"].endswith("a fetch of it has waited here for 18.2 s")
    assert (
        waiting.facts["next"] == "the fetch that waits gets it, attempt 2 of 5; it has waited here for 18.2 s"
    )
    assert held.facts["held by"].endswith("a fetch of it has waited here for 18.2 s")


@pytest.mark.parametrize("runs", [[], [run("Available", 7, 9, 3)]])
def test_what_cannot_be_loaded_is_not_promised_to_the_next_fetch(runs: list[Item]) -> None:
    # When
    reason = "it could not be loaded 0.4 s ago: the slot does not answer"
    found = found_of(group("alice"), runs, [session("alice")], live=False, notLiveReason=reason)

    # Then
    assert found.verdict == f"nothing is delivered: {reason}"
    assert found.facts["next"] == "nothing, until it is loaded: fetches try that again and again"
