"""What happened to share groups and slots between two looks, as events for whoever listens. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kproxy.admin.views import JsonObject
from kproxy.handlers.live.share_counters import GroupCounts


class GroupPicture(NamedTuple):
    """A share group at one moment, but for its records."""

    state: str
    group_epoch: int
    member_count: int


class CountsPicture(NamedTuple):
    """The counts of a group at one moment: those of `GroupCounts`, which go on."""

    delivered: int
    redelivered: int
    acknowledged: int


class SlotPicture(NamedTuple):
    """A slot of the state log at one moment."""

    state: str
    owner: str
    reason: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What events are found by. `counts` are of the groups in `groups`."""

    groups: Mapping[str, GroupPicture]
    counts: Mapping[str, CountsPicture]
    slots: Mapping[int, SlotPicture]


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, and what is told of it."""

    name: str
    data: JsonObject

    def text(self) -> str:
        """Return it as a browser's EventSource reads it."""
        return f"event: {self.name}\ndata: {json.dumps(self.data)}\n\n"


def counts_picture(counts: GroupCounts) -> CountsPicture:
    """Return what counts say now."""
    return CountsPicture(counts.delivered_count, counts.redelivered_count, counts.acknowledged_count)


def changes(before: Picture, now: Picture) -> Iterator[Sequence[Event]]:
    """Yield what changed: `group` and `records` for each group, then `slot`. What is as it was is not told of.

    Nothing is yielded, too, for each group and slot of which there is nothing to tell: whoever goes through very many
    can pause there.
    """
    for group_id, group in now.groups.items():
        yield _changes_of(group_id, before, now, group)
    for group_id, group in before.groups.items():
        yield () if group_id in now.groups else (_group_event(group_id, "removed", group),)
    for number, slot in now.slots.items():
        is_as_it_was = slot == before.slots.get(number)
        yield () if is_as_it_was else (Event("slot", {"partition": number, **slot._asdict()}),)


def _changes_of(group_id: str, before: Picture, now: Picture, group: GroupPicture) -> Sequence[Event]:
    earlier, counted = before.groups.get(group_id), before.counts.get(group_id)
    if group == earlier and now.counts[group_id] == counted:
        return ()
    found: list[Event] = []
    if group != earlier:
        found.append(_group_event(group_id, "added" if earlier is None else "changed", group))
    grown = _grown(counted, now.counts[group_id])
    if any(grown):
        found.append(Event("records", {"groupId": group_id, **grown._asdict()}))
    return found


def _group_event(group_id: str, change: str, group: GroupPicture) -> Event:
    return Event(
        "group",
        {
            "groupId": group_id,
            "change": change,
            "state": group.state,
            "groupEpoch": group.group_epoch,
            "memberCount": group.member_count,
        },
    )


def _grown(before: CountsPicture | None, now: CountsPicture) -> CountsPicture:
    """Return what was counted since; counts that shrank began anew."""
    if before is None or any(after < earlier for earlier, after in zip(before, now, strict=True)):
        return now
    return CountsPicture(*(after - earlier for earlier, after in zip(before, now, strict=True)))
