"""Members of a share group in sentences, and those that seem to be dead. Pure.

A member whose process stopped, or whose host is gone, stays a member until its session ends, and keeps what it holds
until its locks end or its connection closes. Before that only its heartbeats, which do not come, tell of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.spans import ends_text, span_text
from kproxy.wording import counted

MISSED: Final = 3
"""So many heartbeats in a row that did not come: a slow answer or a short stop is over before."""
USUAL_INTERVAL_MS: Final = 5_000
"""Between heartbeats, where a kproxy does not tell it: `share.heartbeat.interval.ms` unless somebody set it."""
_MOST_NAMED: Final = 3


def name_of(member: Item) -> str:
    """Return what people call a member, or the holder of a run: its id, and its client's."""
    return f"{member['memberId']} ({member['clientId']})" if member["clientId"] else str(member["memberId"])


def names_of(members: Sequence[Item]) -> str:
    """Return the names of some members, of many the first ones."""
    named = ", ".join(map(name_of, members[:_MOST_NAMED]))
    more = len(members) - _MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def is_silent(member: Item) -> bool:
    """Tell whether a member should have been heard since: MISSED heartbeats are missing."""
    age_ms = member["lastHeartbeatAgeMs"]
    return age_ms is not None and age_ms > MISSED * _interval_ms(member)


def silent_members(members: Iterable[Item]) -> list[Item]:
    """Return the members that seem to be dead, the one first that has been silent for longest."""
    silent = [member for member in members if is_silent(member)]
    return sorted(silent, key=lambda member: -int(member["lastHeartbeatAgeMs"]))


def silence_lines(member: Item, *, now_ms: int, group: Sequence[Item]) -> list[str]:
    """Return for how long a silent member has not been heard, and below what happens if it stays like that.

    `group` are the members of its group: those that have its partitions already are not given them, nor are those that
    do not subscribe to their topics. To a member that is not heard they would go for nothing.
    """
    silence, interval = span_text(member["lastHeartbeatAgeMs"]), span_text(_interval_ms(member))
    said = [f"{name_of(member)} seems to be dead: no heartbeat for {silence}, one is due every {interval}"]
    remaining_ms = member.get("sessionRemainingMs")
    if remaining_ms is not None:
        said.append(
            f"  its session ends {ends_text(remaining_ms, now_ms=now_ms)}: {_partitions_then(member, group)}; "
            "what it holds comes back when its locks end, or when its connection closes"
        )
    return said


@dataclass(frozen=True, slots=True)
class Hung:
    """A member that is heard, holds records, and has asked for nothing for `idle_ms`; None without a share session.

    Unless `is_all` it may hold more records, of share-partitions that are not shown.
    """

    member: Item
    record_count: int
    idle_ms: int | None
    is_all: bool = True


def hung_line(hung: Hung) -> str:
    """Return what is the matter with a member that hangs."""
    asked = (
        "has no share session"
        if hung.idle_ms is None
        else f"has asked for nothing for {span_text(hung.idle_ms)}"
    )
    return (
        f"{name_of(hung.member)} seems to hang: its heartbeats come, but it {asked}, "
        f"and it holds {counted(hung.record_count, 'record')}{'' if hung.is_all else ' of what is shown here'}"
    )


def takers_over(group: Iterable[Item], topic_name: str | None) -> list[Item]:
    """Return the members that are heard and subscribe to a topic: its partitions can go to them."""
    return [each for each in group if subscribes(each, topic_name) and not is_silent(each)]


def subscribes(member: Item, topic_name: str | None) -> bool:
    """Tell whether a member subscribes to a topic; where it is not told, or the name not known, it may."""
    return topic_name is None or topic_name in member.get("subscribedTopicNames", (topic_name,))


def _partitions_then(member: Item, group: Sequence[Item]) -> str:
    """Return where the partitions of a member go when its session ends."""
    own = _partitions(member)
    if not own:
        return "it has no partitions"
    others = [each for each in group if each["memberId"] != member["memberId"]]
    left = own.difference(*map(_partitions, others))
    if not left:
        return "other members have its partitions already"
    what = "its partitions" if left == own else "those of its partitions that no other member has"
    taken = {name for name in {name for _, name, _ in left} if takers_over(others, name)}
    if not taken:
        return f"{what} go to nobody then, as {_why_nobody(others)}"
    if any(name not in taken for _, name, _ in left):
        return f"{what} of {_topics(taken)} go to other members then, the rest to nobody, as {_why_nobody(others)}"
    return f"{what} go to {'other members' if left == own else 'others'} then"


def _why_nobody(others: Sequence[Item]) -> str:
    if not others:
        return "it is the only member"
    return "no other member that is heard subscribes to their topics"


def _topics(names: Iterable[str | None]) -> str:
    named = sorted(filter(None, names))
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {counted(more, 'more topic')}" if more > 0 else "")


def _partitions(member: Item) -> set[tuple[str, str | None, int]]:
    return {
        (topic["topicId"], topic.get("topicName"), partition)
        for topic in member.get("assignment", ())
        for partition in topic["partitions"]
    }


def _interval_ms(member: Item) -> int:
    return int(member.get("heartbeatIntervalMs") or USUAL_INTERVAL_MS)
