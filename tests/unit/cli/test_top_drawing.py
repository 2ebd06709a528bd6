"""What is drawn fits the terminal, and says who holds what."""

from typing import Any

import pytest

from kproxy.cli.top_drawing import group_lines, list_lines
from kproxy.clients.admin_port import Item
from kproxy.clients.top.group_looks import GroupLook, HeldByMember
from kproxy.clients.top.screen_state import ScreenState
from kproxy.clients.window_strip import GLYPHS
from tests.unit.cli.test_top_columns import ROW


def rows(count: int) -> list[Item]:
    return [{**ROW, "groupId": f"group-{number:04}"} for number in range(count)]


def plain(lines: Any) -> list[str]:
    return [line.plain for line in lines]


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_list_is_as_wide_as_the_terminal_and_the_names_have_room(width: int) -> None:
    # When
    lines = plain(list_lines(rows(5), ScreenState(), width=width, height=10))

    # Then
    assert {len(line) for line in lines} == {width}
    assert [line[:10] for line in lines[1:]] == [f"group-{number:04}" for number in range(5)]


def test_the_cursor_is_always_among_what_is_shown() -> None:
    # When
    lines = list_lines(rows(1000), ScreenState(selected="group-0500"), width=80, height=10)

    # Then
    assert len(lines) == 10
    assert [line.plain[:10] for line in lines if line.style == "reverse"] == ["group-0500"]


def test_an_empty_list_says_why() -> None:
    assert plain(list_lines([], ScreenState(), width=80, height=10))[-1] == "there are no share groups"
    assert plain(list_lines([], ScreenState(text="x"), width=80, height=10))[-1] == "no group has that"


def a_group() -> GroupLook:
    share_partition = {
        "topicId": "id",
        "topicName": "orders",
        "partition": 0,
        "lag": 22,
        "inFlightCount": 3,
        "inFlightLimit": 2000,
        "oldestAgeMs": 4_200,
        "oldestAgeExact": True,
    }
    run = {"state": "Acquired", "deliveryCount": 1, "lockRemainingMs": 5_000}
    runs = [
        {**run, "firstOffset": 100, "lastOffset": 100, "deliveryCount": 3},
        {**run, "firstOffset": 101, "lastOffset": 102, "state": "Acknowledged"},
    ]
    member = {"memberId": "alice", "clientId": "client-1", "lastHeartbeatAgeMs": 1_000}
    return GroupLook(
        {"groupId": "workers", "state": "Stable", "members": [member]},
        [share_partition],
        {("id", 0): runs},
        {"alice": HeldByMember(1, 25_000), "bob": HeldByMember(4, 1_000)},
    )


def test_a_group_is_drawn_with_who_holds_what_and_its_windows() -> None:
    # When
    lines = plain(group_lines(a_group(), GLYPHS, width=40))

    # Then
    assert [line.rstrip() for line in lines] == [
        "workers is Stable: 1 member",
        "",
        "MEMBER  CLIENT-ID  HEARTBEAT-AGE  HOLDS  HELD-FOR",
        "alice   client-1   1.0s           1      25.0s",
        "bob     gone       -              4      1.0s",
        "",
        "orders-0  lag 22, in flight 3 of 2000, oldest 4.2s",
        "100".rjust(3) + "  █──",
        "     3",
        "! Overdue  █ Acquired  ░ Available  ~ Archiving  x Archived  ─ Acknowledged",
    ]


def test_a_group_without_members_says_so() -> None:
    # Given
    look = GroupLook({"groupId": "workers", "state": "Empty", "members": []}, [])

    # When
    lines = plain(group_lines(look, GLYPHS, width=40))

    # Then
    assert "nobody consumes: the group has no members" in lines
