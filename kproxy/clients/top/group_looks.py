"""What `kproxy top` asks the admin port: all groups, or one with what is in flight of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.diagnosis.findings import most_pressing
from kproxy.clients.top.group_rows import GroupsLook

_TIMEOUT_S: Final = 10.0
"""A look at all groups takes four and a half seconds where brokers do not answer."""
MOST_STRIPS: Final = 12
"""Share-partitions of a group that are drawn at once."""
MOST_HELD: Final = 200_000
"""Of groups with more in flight than that it is not asked what each member holds."""


@dataclass(frozen=True, slots=True)
class HeldByMember:
    """Records that a member holds, and since when it has held the first of them, in milliseconds."""

    count: int
    oldest_ms: int


@dataclass(frozen=True, slots=True)
class GroupLook:
    """One group. `share_partitions` are all, those first whose oldest record has waited longest.

    `runs` are what is in flight of the first of these, by topic id and partition. `held` is by member id, None where
    there is too much to ask for.
    """

    group: Item
    share_partitions: Sequence[Item]
    runs: Mapping[tuple[str, int], Sequence[Item]] = field(default_factory=dict)
    held: Mapping[str, HeldByMember] | None = None
    unavailable: str = ""


def groups_look(admin_url: str, *, now_s: float) -> GroupsLook:
    """Look at all groups. Raises what `answer_of` raises."""
    answer = answer_of(admin_url, "groups", query={"lag": "true"}, timeout_s=_TIMEOUT_S)
    return GroupsLook(now_s, items_of(answer), {name: answer[name] for name in answer if name != "items"})


def group_look(admin_url: str, group_id: str) -> GroupLook:
    """Look at one group. Raises what `answer_of` raises."""
    answer = answer_of(admin_url, "groups", group_id, query={"lag": "true"}, timeout_s=_TIMEOUT_S)
    (group,) = items_of(answer)
    pressing = most_pressing(group["sharePartitions"])
    places = {(each["topicId"], each["partition"]) for each in pressing}
    others = [each for each in group["sharePartitions"] if (each["topicId"], each["partition"]) not in places]
    in_order = [*pressing, *others]
    drawn = [each for each in in_order if each["inFlightCount"]][:MOST_STRIPS]
    runs = {
        (each["topicId"], each["partition"]): items_of(
            answer_of(
                admin_url,
                "in-flight",
                query={"group": group_id, "topic": each["topicId"], "partition": each["partition"]},
            )
        )
        for each in drawn
    }
    in_flight = sum(each["inFlightCount"] for each in in_order)
    held = _held(admin_url, group_id) if in_flight <= MOST_HELD else None
    return GroupLook(group, in_order, runs, held, str(answer.get("unavailable") or ""))


def _held(admin_url: str, group_id: str) -> Mapping[str, HeldByMember]:
    runs = items_of(answer_of(admin_url, "in-flight", query={"group": group_id, "state": "Acquired"}))
    return held_by_member(runs)


def held_by_member(runs: Sequence[Item]) -> Mapping[str, HeldByMember]:
    """Return what each member holds of these runs."""
    found: dict[str, HeldByMember] = {}
    for run in runs:
        if run["memberId"] is None:
            continue
        before = found.get(run["memberId"], HeldByMember(0, 0))
        held_ms = max(0, (run["lockDurationMs"] or 0) - (run["lockRemainingMs"] or 0))
        count = before.count + run["lastOffset"] + 1 - run["firstOffset"]
        found[run["memberId"]] = HeldByMember(count, max(before.oldest_ms, held_ms))
    return found
