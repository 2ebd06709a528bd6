"""Rows of groups: rates come from two looks, and whoever does worst comes first."""

from typing import Any

import pytest

from kproxy.clients.admin_port import Item
from kproxy.clients.top.group_rows import SORTS, GroupsLook, in_order, rows_of


def group(name: str, **fields: Any) -> Item:
    return {
        "groupId": name,
        "state": "Stable",
        "lag": 0,
        "oldestAgeMs": None,
        "inFlightCount": 0,
        "oldestLockAgeMs": None,
        "deliveredCount": 0,
        "redeliveredCount": 0,
        "acknowledgedCount": 0,
        **fields,
    }


def names(rows: list[Item]) -> list[str]:
    return [row["groupId"] for row in rows]


def test_rates_are_what_counts_grew_by_in_a_second() -> None:
    # Given
    before = GroupsLook(10.0, [group("a", deliveredCount=100, redeliveredCount=5, acknowledgedCount=90)])
    now = GroupsLook(12.0, [group("a", deliveredCount=150, redeliveredCount=6, acknowledgedCount=91)])

    # When
    (row,) = rows_of(before, now)

    # Then
    assert (row["deliveredPerSecond"], row["redeliveredPerSecond"], row["acknowledgedPerSecond"]) == (
        25.0,
        0.5,
        0.5,
    )


@pytest.mark.parametrize(
    "before",
    [
        None,
        GroupsLook(10.0, []),
        GroupsLook(12.0, [group("a")]),
        GroupsLook(10.0, [group("a", deliveredCount=151)]),
        GroupsLook(10.0, [{"groupId": "a"}]),
    ],
    ids=["no look before", "a new group", "no time between", "counts that began anew", "an older kproxy"],
)
def test_without_two_looks_at_the_same_counts_there_is_no_rate(before: GroupsLook | None) -> None:
    # When
    (row,) = rows_of(before, GroupsLook(12.0, [group("a", deliveredCount=150)]))

    # Then
    assert {row[name] for name in row if name.endswith("PerSecond")} == {None}


def test_the_group_whose_record_waits_longest_is_the_most_painful() -> None:
    # Given
    rows = rows_of(
        None,
        GroupsLook(
            0.0,
            [
                group("calm"),
                group("behind", lag=10**9, oldestAgeMs=1_000),
                group("stuck", lag=1, oldestAgeMs=60_000),
                group("poisoned", lag=1, oldestAgeMs=60_000, redeliveredCount=4),
                group("also-calm"),
            ],
        ),
    )

    # When
    ordered = in_order(rows, sort="pain")

    # Then
    assert names(ordered) == ["poisoned", "stuck", "behind", "also-calm", "calm"]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("lag", "lagging"),
        ("in-flight", "full"),
        ("lock", "holding"),
        ("redelivered", "again"),
        ("name", "again"),
    ],
)
def test_a_sort_puts_the_most_first(sort: str, first: str) -> None:
    # Given
    groups = [
        group("lagging", lag=5),
        group("full", inFlightCount=5),
        group("holding", oldestLockAgeMs=5),
        group("again", redeliveredCount=5),
    ]

    # When
    ordered = in_order(rows_of(None, GroupsLook(0.0, groups)), sort=sort)

    # Then
    assert names(ordered)[0] == first
    assert names(in_order(ordered, sort=sort, is_reversed=True)) == names(ordered)[::-1]


def test_a_filter_chooses_by_name_in_any_case_or_by_state() -> None:
    # Given
    rows = rows_of(None, GroupsLook(0.0, [group("Orders-a"), group("payments", state="Empty")]))

    # When
    chosen = [
        names(in_order(rows, sort="name", text=text)) for text in ("orders", "empty", "AY", "x", "stabl")
    ]

    # Then
    assert chosen == [["Orders-a"], ["payments"], ["payments"], [], []]


def test_every_sort_takes_a_group_of_which_nothing_is_known() -> None:
    rows = rows_of(None, GroupsLook(0.0, [group("a", lag=None)]))
    assert all(names(in_order(rows, sort=sort)) == ["a"] for sort in SORTS)
