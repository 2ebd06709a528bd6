"""Why a share-partition does not move: what the admin port tells of a group, read as an SRE would. Pure.

The start offset passes a record when it is done with, and nothing behind it before. So what is first in the window says
why a queue stands still: somebody holds it, or nobody asks for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.clients.admin_port import Item
from kproxy.wording import counted

_ACQUIRED: Final = "Acquired"
_AVAILABLE: Final = "Available"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be said of one share-partition: a line for what is the matter, and facts by name, in order."""

    share_partition: Item
    verdict: str
    facts: Mapping[str, str]


def most_pressing(share_partitions: Sequence[Item]) -> list[Item]:
    """Return those with something to do, the one first whose oldest record has waited longest, then by lag."""
    waiting = [each for each in share_partitions if each["lag"] != 0 or each["reason"]]
    return sorted(waiting, key=lambda each: (-(each["oldestAgeMs"] or 0), -(each["lag"] or 0)))


def finding(group: Item, share_partition: Item, runs: Sequence[Item], sessions: Sequence[Item]) -> Finding:
    """Return why this share-partition of `group` stands where it stands.

    `runs` are its records in flight by rising offset, `sessions` the share sessions of the group.
    """
    fetchers = [session for session in sessions if _has(session, share_partition)]
    first = next((run for run in runs if run["state"] in {_ACQUIRED, _AVAILABLE}), None)
    facts = {"lag": _lag(share_partition)}
    if share_partition["reason"]:
        facts["not known"] = share_partition["reason"]
    if first is None:
        return Finding(share_partition, _nothing_held(group, share_partition, fetchers), facts)
    facts["blocked by"] = f"{_offsets(first)}, {first['state']}, attempt {_attempt(first)}"
    facts["behind it"] = _behind(runs, first)
    if first["state"] == _ACQUIRED:
        facts["held by"] = _holder(group, first, sessions)
        facts["next"] = _after_lock(first)
        verdict = f"{_who(first)} holds {_offsets(first)}"
    else:
        facts["next"] = _after_wait(group, first, fetchers)
        verdict = f"{_offsets(first)}: a member has to fetch"
    if _is_full(share_partition):
        facts["window"] = (
            f"full, {share_partition['inFlightCount']} of {share_partition['inFlightLimit']} in flight: "
            "nothing behind them is delivered until the first one is done with"
        )
    return Finding(share_partition, verdict, facts)


def next_of_run(run: Item) -> str:
    """Return what happens next to records in flight, if nobody does anything but fetch."""
    match run["state"]:
        case "Acquired":
            return _after_lock(run)
        case "Available":
            last = ", the last one" if run["deliveryCount"] + 1 >= run["deliveryCountLimit"] else ""
            attempt = f"attempt {run['deliveryCount'] + 1} of {run['deliveryCountLimit']}{last}"
            return f"the next fetch of this partition gets it: {attempt}"
        case _ if run["blockedBy"] is None:
            return "the start offset passes it"
        case _:
            return f"the start offset passes it when offset {run['blockedBy']} is done with, and all between"


def _nothing_held(group: Item, share_partition: Item, fetchers: Sequence[Item]) -> str:
    if not group["members"]:
        return "nobody consumes: the group has no members"
    if not fetchers:
        assigned = [member for member in group["members"] if _is_assigned(member, share_partition)]
        who = ", ".join(_name(member) for member in assigned)
        return (
            f"nobody fetches: it is assigned to {who}, without a share session for it"
            if assigned
            else "nobody fetches: it is assigned to no member"
        )
    idle = min(session["idleMs"] for session in fetchers)
    return f"nothing is in flight; the last fetch came {_seconds(idle)} ago"


def _holder(group: Item, run: Item, sessions: Sequence[Item]) -> str:
    member = next((each for each in group["members"] if each["memberId"] == run["memberId"]), None)
    idle = [session["idleMs"] for session in sessions if session["memberId"] == run["memberId"]]
    said = [_who(run)]
    if run["lockDurationMs"] is not None:
        said.append(f"since {_seconds(max(0, run['lockDurationMs'] - run['lockRemainingMs']))}")
    if member is None:
        said.append("not in the group any more")
    elif member["lastHeartbeatAgeMs"] is not None:
        said.append(f"last heartbeat {_seconds(member['lastHeartbeatAgeMs'])} ago")
    said.append(f"last request {_seconds(min(idle))} ago" if idle else "no share session")
    return ", ".join(said)


def _after_lock(run: Item) -> str:
    left = f"its lock ends in {_seconds(run['lockRemainingMs'])}, then it is"
    if run["deliveryCount"] >= run["deliveryCountLimit"]:
        return f"{left} archived: this is its last attempt"
    return f"{left} for any member: attempt {run['deliveryCount'] + 1} of {run['deliveryCountLimit']}"


def _after_wait(group: Item, run: Item, fetchers: Sequence[Item]) -> str:
    if not group["members"]:
        return "nothing, until a member joins the group"
    if not fetchers:
        return "nothing, until a member that it is assigned to fetches"
    idle = min(session["idleMs"] for session in fetchers)
    last = " and last" if run["deliveryCount"] + 1 >= run["deliveryCountLimit"] else ""
    return (
        f"the next fetch gets it, for the {_ordinal(run['deliveryCount'] + 1)}{last} time; "
        f"the last one came {_seconds(idle)} ago"
    )


def _behind(runs: Sequence[Item], first: Item) -> str:
    counts: dict[str, int] = {}
    for run in runs:
        if run["firstOffset"] > first["lastOffset"]:
            counts[run["state"]] = counts.get(run["state"], 0) + run["lastOffset"] + 1 - run["firstOffset"]
    return ", ".join(f"{number} {state}" for state, number in counts.items()) or "nothing in flight"


def _is_full(share_partition: Item) -> bool:
    limit = share_partition.get("inFlightLimit")
    return limit is not None and share_partition["inFlightCount"] >= limit


def _has(session: Item, share_partition: Item) -> bool:
    return any(_is_of(topic, share_partition) for topic in session["partitions"])


def _is_assigned(member: Item, share_partition: Item) -> bool:
    return any(_is_of(topic, share_partition) for topic in member["assignment"])


def _is_of(topic: Item, share_partition: Item) -> bool:
    return (
        topic["topicId"] == share_partition["topicId"] and share_partition["partition"] in topic["partitions"]
    )


def _offsets(run: Item) -> str:
    first, last = run["firstOffset"], run["lastOffset"]
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


def _attempt(run: Item) -> str:
    return f"{run['deliveryCount']} of {run['deliveryCountLimit']}"


def _who(run: Item) -> str:
    return f"{run['memberId']} ({run['clientId']})" if run["clientId"] else str(run["memberId"])


def _name(member: Item) -> str:
    return f"{member['memberId']} ({member['clientId']})" if member["clientId"] else str(member["memberId"])


def _lag(share_partition: Item) -> str:
    lag = share_partition["lag"]
    return "not known" if lag is None else counted(lag, "record")


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s"


def _ordinal(number: int) -> str:
    ending = "th" if 11 <= number % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
