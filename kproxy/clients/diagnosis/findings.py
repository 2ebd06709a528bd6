"""Why a share-partition does not move. Pure.

The start offset passes a record when it is done with, and nothing behind it before. So what is first in the window says
why a queue stands still: somebody holds it, or nobody asks for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.attempts import attempt_text, next_attempt_text, next_of_run
from kproxy.clients.diagnosis.histories import audit_command
from kproxy.clients.diagnosis.locks import held_text, locks_text
from kproxy.clients.diagnosis.members import is_silent, name_of, names_of, subscribes, takers_over
from kproxy.clients.diagnosis.spans import span_text
from kproxy.clients.diagnosis.transactions import held_back_from, open_transaction_text
from kproxy.clients.diagnosis.windows import window_text
from kproxy.wording import counted

_ACQUIRED: Final = "Acquired"
_AVAILABLE: Final = "Available"
LONG_LOCK_MS: Final = 300_000
"""Whose locks last so long waits long for a member that hangs: somebody has set it."""
LONG_IDLE_MS: Final = 15_000
"""Who has not asked for so long works on what it has, or hangs: a fetch that finds nothing is over much sooner."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of one share-partition of `group` at `now_ms`, by the clock on the wall.

    `runs` are its records in flight by rising offset, `sessions` the share sessions of the group. `backing` says where
    the cluster is that has the state log; None where nobody knows.
    """

    group: Item
    share_partition: Item
    runs: Sequence[Item]
    sessions: Sequence[Item]
    now_ms: int
    backing: Item | None = None

    @property
    def first(self) -> Item | None:
        """The first run that is not done with."""
        return next((run for run in self.runs if run["state"] in {_ACQUIRED, _AVAILABLE}), None)

    @property
    def history_command(self) -> str:
        """The command that tells how earlier attempts of the first record ended; empty where there were none."""
        first = self.first
        ended = 0 if first is None else first["deliveryCount"] - (first["state"] == _ACQUIRED)
        if first is None or ended <= 0:
            return ""
        return audit_command(self.group["groupId"], self.share_partition, first["firstOffset"], self.backing)

    @property
    def assigned(self) -> list[Item]:
        """The members that it is assigned to."""
        return [member for member in self.group["members"] if self._has(member["assignment"])]

    @property
    def fetchers(self) -> list[Item]:
        """The share sessions that have it."""
        return [session for session in self.sessions if self._has(session["partitions"])]

    def member(self, member_id: str) -> Item | None:
        """Return the member of the group; None for who is none, any more."""
        return next((each for each in self.group["members"] if each["memberId"] == member_id), None)

    def idle_ms(self, member_id: str) -> int | None:
        """Return for how long a member has asked for nothing, 0 while it fetches; None without a share session."""
        return min((idle_ms(each) for each in self.sessions if each["memberId"] == member_id), default=None)

    @property
    def not_live_reason(self) -> str:
        """Why it is not in memory though somebody fetches from it; empty where that is not so."""
        return str(self.share_partition.get("notLiveReason") or "")

    @property
    def fetching_ms(self) -> int | None:
        """For how long a fetch has waited here, the longest of several; None where none waits."""
        return _fetching_ms(self.fetchers)

    def last_request_text(self, member_id: str) -> str:
        """Return when a member's last request came, or that a fetch of it waits."""
        own = [each for each in self.sessions if each["memberId"] == member_id]
        fetching_ms, idle = _fetching_ms(own), self.idle_ms(member_id)
        if fetching_ms is not None:
            return f"a fetch of it has waited here for {span_text(fetching_ms)}"
        return "no share session" if idle is None else f"last request {span_text(idle)} ago"

    def _has(self, topics: Sequence[Item]) -> bool:
        place = self.share_partition
        return any(
            topic["topicId"] == place["topicId"] and place["partition"] in topic["partitions"]
            for topic in topics
        )


def idle_ms(session: Item) -> int:
    """Return for how long nothing was asked for in a share session: 0 while a fetch waits."""
    return 0 if session.get("fetching") else int(session["idleMs"])


def _fetching_ms(sessions: Sequence[Item]) -> int | None:
    return max((each["idleMs"] for each in sessions if each.get("fetching")), default=None)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be said of one share-partition: a line for what is the matter, and facts by name, in order."""

    situation: Situation
    verdict: str
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def share_partition(self) -> Item:
        """What it is said of."""
        return self.situation.share_partition


def most_pressing(each_of: Sequence[Item]) -> list[Item]:
    """Return those share-partitions, or groups, with something to do: by the age of the oldest record, then by lag."""
    waiting = [each for each in each_of if each["lag"] != 0 or each["reason"]]
    return sorted(waiting, key=lambda each: (-(each["oldestAgeMs"] or 0), -(each["lag"] or 0)))


def finding(situation: Situation) -> Finding:
    """Return why a share-partition stands where it stands."""
    facts = {"lag": _lag(situation.share_partition)}
    if situation.share_partition["reason"]:
        facts["not known"] = situation.share_partition["reason"]
    if waiting := open_transaction_text(situation.share_partition, situation.backing):
        facts["transaction"] = waiting
    first = situation.first
    if first is None:
        facts |= _about_assigned(situation)
        facts["next"] = _before_fetch(situation)
        return Finding(situation, _nothing_held(situation), facts)
    facts["blocked by"] = f"{offsets_text(first)}, {first['state']}, {attempt_text(first)}"
    facts["behind it"] = _behind(situation, first)
    facts |= _held(situation, first) if first["state"] == _ACQUIRED else _waiting(situation, first)
    if command := situation.history_command:
        facts["before"] = f"how earlier attempts ended: {command}"
    if full := window_text(situation.share_partition):
        facts["window"] = full
    return Finding(situation, _verdict(situation, first), facts)


def offsets_text(run: Item) -> str:
    """Return which offsets a run has."""
    first, last = run["firstOffset"], run["lastOffset"]
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


def _verdict(situation: Situation, first: Item) -> str:
    if reason := situation.not_live_reason:
        return f"nothing is delivered: {reason}"
    if first["state"] == _ACQUIRED:
        return f"{name_of(first)} holds {offsets_text(first)}"
    if _is_held_back(situation, first["firstOffset"]):
        stable = situation.share_partition["lastStableOffset"]
        return f"{offsets_text(first)}: held back by the transaction that began at offset {stable}"
    return f"{offsets_text(first)}: a member has to fetch{_who_does_not(situation)}"


def _who_does_not(situation: Situation) -> str:
    """Return which members have the partition and do not fetch, though they are heard of; or that there are none."""
    if not situation.group["members"]:
        return "; the group has no members"
    alive = [member for member in situation.assigned if not is_silent(member)]
    if not alive:
        return ""
    if not situation.fetchers:
        return f"; it is assigned to {names_of(alive)}, without a share session for it"
    longest_ms = min(map(idle_ms, situation.fetchers))
    if longest_ms < LONG_IDLE_MS:
        return ""
    return f"; it is assigned to {names_of(alive)}, and nobody has fetched for {span_text(longest_ms)}"


# ---------------------------------------------------------------- somebody holds the first record


def _held(situation: Situation, first: Item) -> Mapping[str, str]:
    facts = {"held by": _holder(situation, first)}
    others = [member for member in situation.assigned if member["memberId"] != first["memberId"]]
    if others:
        is_moved = len(others) == len(situation.assigned)
        holder = "not to its holder any more" if is_moved else "and to its holder"
        facts["assigned to"] = f"{names_of(others)}, {holder}"
    if (first["lockDurationMs"] or 0) >= LONG_LOCK_MS:
        facts["locks"] = locks_text(first)
    return {**facts, "next": next_of_run(first, now_ms=situation.now_ms)}


def _holder(situation: Situation, run: Item) -> str:
    said = [name_of(run)]
    if run["lockDurationMs"] is not None:
        said.append(held_text(run, now_ms=situation.now_ms))
    member = situation.member(run["memberId"])
    if member is None:
        said.append("not in the group any more")
    elif member["lastHeartbeatAgeMs"] is not None:
        said.append(f"last heartbeat {span_text(member['lastHeartbeatAgeMs'])} ago")
    said.append(situation.last_request_text(run["memberId"]))
    return ", ".join(said)


# ---------------------------------------------------------------- nobody holds it


def _waiting(situation: Situation, first: Item) -> Mapping[str, str]:
    coming = _nobody_comes(situation) or _before_delivery(situation, first["firstOffset"])
    attempt, fetching_ms = next_attempt_text(first), situation.fetching_ms
    if not coming and fetching_ms is not None:
        coming = f"the fetch that waits gets it, {attempt}; it has waited here for {span_text(fetching_ms)}"
    elif not coming:
        last_ms = min(map(idle_ms, situation.fetchers))
        coming = f"the next fetch gets it, {attempt}; the last fetch came {span_text(last_ms)} ago"
    return {**_about_assigned(situation), "next": coming}


def _nothing_held(situation: Situation) -> str:
    if not situation.group["members"]:
        return "nobody consumes: the group has no members"
    if not situation.assigned and not situation.fetchers:
        return "nobody fetches: it is assigned to no member"
    if not situation.fetchers:
        return f"nobody fetches: it is assigned to {names_of(situation.assigned)}, without a share session for it"
    if reason := situation.not_live_reason:
        return f"nothing is delivered: {reason}"
    return f"nothing is in flight{_fetches(situation)}"


def _fetches(situation: Situation) -> str:
    start_offset = situation.share_partition["startOffset"]
    if _is_held_back(situation, start_offset):
        return f", and what is next, offset {start_offset}, waits for a transaction to end"
    if situation.fetching_ms is not None:
        return f"; a fetch has waited here for {span_text(situation.fetching_ms)}"
    last_ms = min(map(idle_ms, situation.fetchers))
    if last_ms >= LONG_IDLE_MS:
        return f", and nobody has fetched for {span_text(last_ms)}"
    return f"; the last fetch came {span_text(last_ms)} ago"


def _before_fetch(situation: Situation) -> str:
    """Return what happens next where nothing is in flight."""
    start_offset = situation.share_partition["startOffset"]
    first = "what waits" if start_offset is None else f"what waits, from offset {start_offset} on"
    if coming := _nobody_comes(situation) or _before_delivery(situation, start_offset):
        return coming
    if situation.fetching_ms is None:
        return f"the next fetch gets {first}, for the first time"
    return f"the fetch that waits gets {first}, once that is fetch.min.bytes or its wait over"


def _before_delivery(situation: Situation, offset: int | None) -> str:
    """Return what has to come before a fetch gets `offset`: a load, or the end of a transaction; empty without."""
    if situation.not_live_reason:
        return "nothing, until it is loaded: fetches try that again and again"
    if not _is_held_back(situation, offset):
        return ""
    first = held_back_from(situation.share_partition)
    return f"nothing, until the transaction that began at offset {first} ends"


def _is_held_back(situation: Situation, offset: int | None) -> bool:
    first = held_back_from(situation.share_partition)
    return offset is not None and first is not None and offset >= first


def _nobody_comes(situation: Situation) -> str:
    """Return why the next fetch may not come soon, and what that depends on; empty where it may come at once."""
    group, assigned, fetchers = situation.group, situation.assigned, situation.fetchers
    if not group["members"]:
        return "nothing, until a member joins the group"
    name = situation.share_partition["topicName"]
    if not assigned and not any(subscribes(member, name) for member in group["members"]):
        return "nothing, until a member subscribes to the topic: none does"
    if not fetchers:
        return "nothing, until a member that it is assigned to fetches"
    if min(map(idle_ms, fetchers)) < LONG_IDLE_MS:
        return ""
    if assigned and all(map(is_silent, assigned)):
        if takers_over(group["members"], name):
            after = "the session of its member ends: it goes to another member then"
        else:
            after = "another subscribes to the topic: no other that is heard does"
        return f"nothing, until its member is back, or {after}"
    return "nothing, until its member fetches again: it works on other records for long, or hangs"


def _about_assigned(situation: Situation) -> Mapping[str, str]:
    """Return to whom it is assigned, with when each of them was heard last."""
    assigned = situation.assigned
    if not assigned:
        return {}
    if len(assigned) > 1:
        return {"assigned to": names_of(assigned)}
    (member,) = assigned
    said = [name_of(member)]
    if member["lastHeartbeatAgeMs"] is not None:
        said.append(f"last heartbeat {span_text(member['lastHeartbeatAgeMs'])} ago")
    said.append(situation.last_request_text(member["memberId"]))
    return {"assigned to": ", ".join(said)}


def _behind(situation: Situation, first: Item) -> str:
    counts = counts_behind(situation.runs, first)
    said = [f"{number} {state}" for state, number in counts.items()] or ["nothing in flight"]
    end_offset = situation.share_partition["endOffset"]
    log_end_offset = situation.share_partition["logEndOffset"]
    if end_offset is not None and log_end_offset is not None and log_end_offset > end_offset + 1:
        said.append(f"{log_end_offset - end_offset - 1} never fetched")
    return ", ".join(said)


def counts_behind(runs: Sequence[Item], first: Item) -> Mapping[str, int]:
    """Return how many records of each state are in flight behind the first one that is not done with."""
    counts: dict[str, int] = {}
    for run in runs:
        if run["firstOffset"] > first["lastOffset"]:
            counts[run["state"]] = counts.get(run["state"], 0) + run["lastOffset"] + 1 - run["firstOffset"]
    return counts


def _lag(share_partition: Item) -> str:
    lag = share_partition["lag"]
    return "not known" if lag is None else counted(lag, "record")
