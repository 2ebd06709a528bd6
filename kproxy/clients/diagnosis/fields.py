"""Findings for scripts: numbers and names as fields, beside the sentences. Pure.

Ages and lengths of time are in milliseconds (`Ms`), moments in milliseconds since 1970 (`AtMs`). None is not known, or
that there is nothing of the kind.
"""

from collections.abc import Mapping
from typing import Any

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.attempts import is_last_attempt
from kproxy.clients.diagnosis.findings import Finding, Situation, counts_behind
from kproxy.clients.diagnosis.members import is_silent

JsonObject = Mapping[str, Any]

_OF_SHARE_PARTITION = (
    *("topicId", "topicName", "partition", "lag", "oldestAgeMs", "oldestAgeExact", "notLiveReason"),
    *(
        "startOffset",
        "endOffset",
        "logEndOffset",
        "lastStableOffset",
        "inFlightCount",
        "inFlightLimit",
        "inFlightLimitAtGrowth",
    ),
)


def fields_of(found: Finding) -> JsonObject:
    """Return a finding with all that it was made of. `facts` are sentences for people, which may change."""
    situation = found.situation
    first = situation.first
    return {
        "groupId": situation.group["groupId"],
        **{name: situation.share_partition.get(name) for name in _OF_SHARE_PARTITION},
        "verdict": found.verdict,
        "blockedBy": None if first is None else _blocking(first),
        "behind": {} if first is None else counts_behind(situation.runs, first),
        "holder": None if first is None or first["memberId"] is None else _holder(situation, first),
        "assignedTo": [_member_in(situation, member) for member in situation.assigned],
        "historyCommand": situation.history_command or None,
        "facts": dict(found.facts),
    }


def member_fields(member: Item, *, now_ms: int) -> JsonObject:
    """Return who a member is, when it was heard last, and when its session ends unless it is heard."""
    remaining_ms = member.get("sessionRemainingMs")
    return {
        "memberId": member["memberId"],
        "clientId": member["clientId"],
        "clientHost": member.get("clientHost", "").removeprefix("/"),
        "lastHeartbeatAgeMs": member["lastHeartbeatAgeMs"],
        "sessionEndsAtMs": None if remaining_ms is None else now_ms + remaining_ms,
        "silent": is_silent(member),
    }


def _blocking(run: Item) -> JsonObject:
    return {
        "firstOffset": run["firstOffset"],
        "lastOffset": run["lastOffset"],
        "state": run["state"],
        "deliveryCount": run["deliveryCount"],
        "deliveryCountLimit": run["deliveryCountLimit"],
        "lastAttempt": is_last_attempt(run),
    }


def _holder(situation: Situation, run: Item) -> JsonObject:
    member = situation.member(run["memberId"])
    known = None if member is None else _member_in(situation, member)
    remaining_ms, duration_ms = run["lockRemainingMs"], run["lockDurationMs"]
    is_timed = remaining_ms is not None and duration_ms is not None
    gone = {"clientHost": None, "lastHeartbeatAgeMs": None, "sessionEndsAtMs": None, "silent": None}
    return {
        **(known or {**gone, "lastRequestAgeMs": situation.idle_ms(run["memberId"])}),
        "memberId": run["memberId"],
        "clientId": run["clientId"],
        "inGroup": member is not None,
        "heldMs": max(0, duration_ms - remaining_ms) if is_timed else None,
        "lockRemainingMs": remaining_ms,
        "lockEndsAtMs": None if remaining_ms is None else situation.now_ms + remaining_ms,
    }


def _member_in(situation: Situation, member: Item) -> JsonObject:
    return {
        **member_fields(member, now_ms=situation.now_ms),
        "lastRequestAgeMs": situation.idle_ms(member["memberId"]),
    }
