"""What happened to share groups and slots between two looks, as events for whoever listens. Pure."""

import json
from collections.abc import Iterator, Mapping
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


def changes(before: Picture, now: Picture) -> Iterator[Event]:
    """Yield what changed: `group` and `records` for each group, then `slot`. What is as it was is not told of."""
    for group_id, group in now.groups.items():
        earlier = before.groups.get(group_id)
        if group != earlier:
            yield _group_event(group_id, "added" if earlier is None else "changed", group)
        grown = _grown(before.counts.get(group_id), now.counts[group_id])
        if any(grown):
            yield Event("records", {"groupId": group_id, **grown._asdict()})
    for group_id, group in before.groups.items():
        if group_id not in now.groups:
            yield _group_event(group_id, "removed", group)
    for number, slot in now.slots.items():
        if slot != before.slots.get(number):
            yield Event("slot", {"partition": number, **slot._asdict()})


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
