"""Members that seem to be dead, and what is said of them."""

from typing import Any

import pytest

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.members import (
    Hung,
    hung_line,
    is_silent,
    names_of,
    silence_lines,
    silent_members,
)

NOON_MS = 1_795_262_400_000


def member(name: str = "alice", **said: Any) -> Item:
    usual = {
        "memberId": name,
        "clientId": "pod-2",
        "lastHeartbeatAgeMs": 106_000,
        "heartbeatIntervalMs": 5_000,
        "subscribedTopicNames": ["orders"],
        "assignment": [],
    }
    return {**usual, "sessionRemainingMs": 13_000, **said}


def heard(name: str = "bob", *partitions: int, **said: Any) -> Item:
    return member(name, lastHeartbeatAgeMs=1_000, assignment=assignment(*partitions), **said)


def assignment(*partitions: int) -> list[Item]:
    return [{"topicId": "T", "topicName": "orders", "partitions": list(partitions)}]


def test_a_member_that_is_not_heard_is_told_with_the_end_of_its_session() -> None:
    dead = member(assignment=assignment(0, 1))
    assert silence_lines(dead, now_ms=NOON_MS, group=[dead, heard()]) == [
        "alice (pod-2) seems to be dead: no heartbeat for 1m46s, one is due every 5.0 s",
        (
            "  its session ends in 13.0 s, at 12:00:13 UTC: its partitions go to other members then; "
            "what it holds comes back when its locks end, or when its connection closes"
        ),
    ]


@pytest.mark.parametrize(
    ("age_ms", "interval_ms", "is_missed"),
    [
        (15_000, 5_000, False),
        (15_001, 5_000, True),
        (15_001, 15_000, False),
        (15_001, None, True),
        (None, None, False),
    ],
)
def test_a_member_is_silent_when_three_heartbeats_are_missing(
    age_ms: int | None, interval_ms: int | None, *, is_missed: bool
) -> None:
    assert is_silent(member(lastHeartbeatAgeMs=age_ms, heartbeatIntervalMs=interval_ms)) is is_missed


def test_who_has_been_silent_for_longest_comes_first() -> None:
    # Given
    members = [member("a", lastHeartbeatAgeMs=20_000), member("b", lastHeartbeatAgeMs=1_000), member("c")]

    # When
    found = silent_members(members)

    # Then
    assert [each["memberId"] for each in found] == ["c", "a"]


def test_what_an_older_kproxy_does_not_tell_is_left_out() -> None:
    # Given
    older = {name: value for name, value in member().items() if name != "sessionRemainingMs"}

    # Then
    assert len(silence_lines(older, now_ms=NOON_MS, group=[older])) == 1


def test_of_many_members_the_first_ones_are_named() -> None:
    assert names_of([member(name) for name in "abcde"]) == "a (pod-2), b (pod-2), c (pod-2) and 2 more"


@pytest.mark.parametrize(
    ("partitions", "then"),
    [
        ([0, 1], "other members have its partitions already; "),
        ([1, 2], "those of its partitions that no other member has go to others then; "),
        ([2], "its partitions go to other members then; "),
    ],
)
def test_partitions_that_other_members_have_do_not_go_to_them(partitions: list[int], then: str) -> None:
    # Given
    dead, other = member(assignment=assignment(0, 1)), heard("bob", *partitions)

    # When
    lines = silence_lines(dead, now_ms=NOON_MS, group=[dead, other])

    # Then
    assert then in lines[1]


@pytest.mark.parametrize(
    ("others", "then"),
    [
        ([], "its partitions go to nobody then, as it is the only member; "),
        (
            [heard(subscribedTopicNames=["paid"])],
            "its partitions go to nobody then, as no other member that is heard subscribes to their topics; ",
        ),
        (
            [member("bob")],
            "its partitions go to nobody then, as no other member that is heard subscribes to their topics; ",
        ),
        (
            [heard("bob", 1, subscribedTopicNames=["paid"])],
            "those of its partitions that no other member has go to nobody then, as no other member that is heard",
        ),
    ],
)
def test_where_nobody_can_take_over_the_partitions_of_a_silent_member_that_is_said(
    others: list[Item], then: str
) -> None:
    # Given
    dead = member(assignment=assignment(0, 1))

    # When
    lines = silence_lines(dead, now_ms=NOON_MS, group=[dead, *others])

    # Then
    assert then in lines[1]


def test_of_partitions_some_go_to_members_that_subscribe_and_some_to_nobody() -> None:
    # Given
    paid = {"topicId": "P", "topicName": "paid", "partitions": [0]}
    dead = member(assignment=[*assignment(0), paid])

    # When
    lines = silence_lines(dead, now_ms=NOON_MS, group=[dead, heard()])

    # Then
    assert (
        "its partitions of orders go to other members then, the rest to nobody, as no other member that"
        in lines[1]
    )


def test_a_silent_member_without_partitions_leaves_none() -> None:
    assert "it has no partitions; " in silence_lines(member(), now_ms=NOON_MS, group=[member()])[1]


@pytest.mark.parametrize(
    ("idle_ms", "asked"), [(102_000, "has asked for nothing for 1m42s"), (None, "has no share session")]
)
def test_a_member_that_hangs_is_told_with_what_it_holds(idle_ms: int | None, asked: str) -> None:
    assert hung_line(Hung(member(), 60, idle_ms)) == (
        f"alice (pod-2) seems to hang: its heartbeats come, but it {asked}, and it holds 60 records"
    )


def test_of_a_member_that_hangs_it_is_told_that_not_all_was_counted() -> None:
    assert hung_line(Hung(member(), 60, 102_000, is_all=False)).endswith(
        "it holds 60 records of what is shown here"
    )
