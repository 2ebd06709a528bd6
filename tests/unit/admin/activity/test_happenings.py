"""What changed between two pictures is told once, and nothing else."""

import json
from itertools import chain

from kproxy.admin.activity.happenings import (
    CountsPicture,
    Event,
    GroupPicture,
    Picture,
    SlotPicture,
    changes,
    counts_picture,
)
from kproxy.handlers.live.share_counters import GroupCounts

STABLE = GroupPicture("Stable", 2, 1)
NOTHING = CountsPicture(0, 0, 0)


def picture(
    groups: dict[str, GroupPicture] | None = None,
    counts: dict[str, CountsPicture] | None = None,
    slots: dict[int, SlotPicture] | None = None,
) -> Picture:
    groups = groups or {}
    return Picture(groups, {**dict.fromkeys(groups, NOTHING), **(counts or {})}, slots or {})


def told_of(before: Picture, now: Picture) -> list[Event]:
    return list(chain.from_iterable(changes(before, now)))


def test_nothing_is_told_of_what_is_as_it_was() -> None:
    before = picture({"a": STABLE}, {"a": CountsPicture(9, 1, 8)}, {0: SlotPicture("ready", "me", "")})
    assert told_of(before, before) == []


def test_whoever_looks_for_changes_of_many_may_pause_at_each() -> None:
    # Given
    groups = {f"group-{number}": STABLE for number in range(100)}

    # When
    steps = list(changes(picture(groups), picture(groups, slots={3: SlotPicture("ready", "me", "")})))

    # Then
    assert len(steps) >= 101
    assert max(map(len, steps)) == 1


def test_groups_that_came_changed_and_went_are_told_of() -> None:
    # Given
    before = picture({"changed": STABLE, "gone": STABLE, "same": STABLE})
    now = picture({"new": STABLE, "changed": GroupPicture("Empty", 3, 0), "same": STABLE})

    # When
    told = {event.data["groupId"]: event.data for event in told_of(before, now)}

    # Then
    assert {name: data["change"] for name, data in told.items()} == {
        "new": "added",
        "changed": "changed",
        "gone": "removed",
    }
    assert told["changed"] == {
        "groupId": "changed",
        "change": "changed",
        "state": "Empty",
        "groupEpoch": 3,
        "memberCount": 0,
    }


def test_what_happened_to_records_is_told_as_how_many_since_the_look_before() -> None:
    # Given
    before = picture({"a": STABLE}, {"a": CountsPicture(100, 5, 90)})
    now = picture({"a": STABLE}, {"a": CountsPicture(130, 5, 91)})

    # When
    (event,) = told_of(before, now)

    # Then
    assert event == Event("records", {"groupId": "a", "delivered": 30, "redelivered": 0, "acknowledged": 1})


def test_counts_that_began_anew_are_told_as_they_are() -> None:
    # Given
    before = picture({"a": STABLE}, {"a": CountsPicture(100, 5, 90)})
    now = picture({"a": STABLE}, {"a": CountsPicture(7, 0, 6)})

    # When
    (event,) = told_of(before, now)

    # Then
    assert (event.data["delivered"], event.data["acknowledged"]) == (7, 6)


def test_a_slot_that_moved_is_told_with_who_has_it() -> None:
    # Given
    before = picture(slots={0: SlotPicture("ready", "me", ""), 1: SlotPicture("ready", "me", "")})
    now = picture(slots={0: SlotPicture("ready", "me", ""), 1: SlotPicture("elsewhere", "them", "moved")})

    # When
    (event,) = told_of(before, now)

    # Then
    assert event == Event("slot", {"partition": 1, "state": "elsewhere", "owner": "them", "reason": "moved"})


def test_an_event_is_written_on_one_line_whatever_a_group_is_called() -> None:
    # When
    text = Event("group", {"groupId": "a\n\nevent: slot\ndata: {}"}).text()

    # Then
    name, data, *rest = text.split("\n")
    assert (name, rest) == ("event: group", ["", ""])
    assert json.loads(data.removeprefix("data: ")) == {"groupId": "a\n\nevent: slot\ndata: {}"}


def test_counts_are_pictured_as_they_are() -> None:
    assert counts_picture(GroupCounts(3, 2, 1)) == CountsPicture(3, 2, 1)
