"""What `kproxy why` asks the admin port: one group with what it waits for, or which groups do worst."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.diagnosis.findings import Finding, Situation, finding, idle_ms, most_pressing
from kproxy.clients.diagnosis.members import Hung, is_silent, silent_members
from kproxy.clients.diagnosis.places import held_up_text, slot_of
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.notation import timestamp_ms_of

_TIMEOUT_S: Final = 10.0
"""A look at all groups takes four and a half seconds where brokers do not answer."""
HUNG_MS: Final = 60_000
"""Who holds records and has asked for nothing for so long may hang: twice as long as a lock lasts usually."""
MOST_HELD: Final = 200_000
"""Of groups with more in flight than that it is not asked what members hold that may hang."""
_ACQUIRED: Final = "Acquired"
PATIENCE_S: Final = 15.0
"""For so long groups are looked into one after the other; one takes three seconds when brokers do not answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which share-partitions of a group are asked about; None for any."""

    topic: str | None = None
    partition: int | None = None

    def has(self, share_partition: Item) -> bool:
        """Tell whether one is."""
        names = {None, share_partition["topicName"], share_partition["topicId"]}
        return self.topic in names and self.partition in {None, share_partition["partition"]}


ANYWHERE: Final = Place()


@dataclass(frozen=True, slots=True)
class GroupDiagnosis:
    """Why a group does not move, at `now_ms` by the clock on the wall: its worst share-partitions.

    `left_out` have something to do, too. `answer` is what the admin port said of the group, `slot` of the slot of the
    state log that it is in; None where that is not known. `held` says how many records each member holds that may hang,
    of the whole group; None where that is too much to ask for.
    """

    answer: Mapping[str, Any]
    group: Item
    findings: Sequence[Finding]
    left_out: int
    now_ms: int
    slot: Item | None = None
    held: Mapping[str, int] | None = None

    @property
    def silent(self) -> Sequence[Item]:
        """The members that seem to be dead."""
        return silent_members(self.group["members"])

    @property
    def hung(self) -> Sequence[Hung]:
        """The members that are heard and seem to hang on records, by member id."""
        if not self.findings:
            return []
        situation = self.findings[0].situation
        held = _held([run for found in self.findings for run in found.situation.runs])
        if self.held is not None:
            held = self.held
        return [
            Hung(member, held[member["memberId"]], idle_ms, is_all=self.held is not None)
            for member, idle_ms in _asking_for_nothing(self.group, situation.sessions)
            if held.get(member["memberId"])
        ]


@dataclass(frozen=True, slots=True)
class FleetDiagnosis:
    """Why groups do not move, the worst first. `left_out` have something to do, too. `answer` has no items.

    `held_up` says which groups cannot be written of, and which brokers are down; it is empty where all can be.
    """

    answer: Mapping[str, Any]
    groups: Sequence[GroupDiagnosis]
    left_out: int
    held_up: str = ""


def diagnosed_group(
    admin_url: str,
    group_id: str,
    *,
    place: Place = ANYWHERE,
    most: int | None = None,
    slots: Sequence[Item] | None = None,
) -> GroupDiagnosis:
    """Look into a group, at `most` of its share-partitions, all for None; `slots` are asked for unless they are given.

    Raises what `answer_of` raises, and NotThere: the group has nothing there.
    """
    answer = answer_of(admin_url, "groups", group_id, query={"lag": "true"}, timeout_s=_TIMEOUT_S)
    (group,) = items_of(answer)
    chosen = [each for each in group["sharePartitions"] if place.has(each)]
    if not chosen and place != ANYWHERE:
        raise NotThere(_none_there(group, place))
    pressing = most_pressing(chosen)
    shown = pressing if most is None else pressing[:most]
    sessions = items_of(answer_of(admin_url, "sessions", query={"group": group_id})) if shown else []
    backing = backing_cluster(admin_url) if shown else None
    findings = []
    now_ms = moment_of(answer)
    for each in shown:
        runs, told_ms = _runs_of(admin_url, group_id, each)
        findings.append(finding(Situation(group, each, runs, sessions, told_ms or now_ms, backing)))
    slot = slot_of(group_id, state_slots(admin_url) if slots is None else slots)
    held = _held_by_idle(admin_url, group, sessions) if shown else None
    return GroupDiagnosis(answer, group, findings, len(pressing) - len(shown), now_ms, slot, held)


def diagnosed_groups(
    admin_url: str, *, most: int, now_s: Callable[[], float] = time.monotonic
) -> FleetDiagnosis:
    """Look into the groups that do worst, at `most` of them, and at the worst share-partition of each.

    Raises what `answer_of` raises. A group that ended since they were listed is left out.
    """
    patience_ends_s = now_s() + PATIENCE_S
    answer = answer_of(admin_url, "groups", query={"lag": "true"}, timeout_s=_TIMEOUT_S)
    rows, slots = items_of(answer), state_slots(admin_url)
    waiting = most_pressing(rows)
    found: list[GroupDiagnosis] = []
    looked_at = 0
    for row in waiting[:most]:
        if found and now_s() >= patience_ends_s:
            break
        looked_at += 1
        try:
            found.append(diagnosed_group(admin_url, row["groupId"], most=1, slots=slots))
        except NotThere:
            continue
    head = {name: value for name, value in answer.items() if name != "items"}
    held_up = held_up_text((row["groupId"] for row in rows), slots)
    return FleetDiagnosis(head, found, len(waiting) - looked_at, held_up)


def backing_cluster(admin_url: str) -> Item | None:
    """Return where the cluster is that has the state log, and what its topics are called; None where nobody says."""
    try:
        (status,) = items_of(answer_of(admin_url, "status"))
    except (ClientFailed, ValueError):
        return None
    found = status.get("backingCluster")
    return found if isinstance(found, dict) else None


def state_slots(admin_url: str) -> Sequence[Item]:
    """Return the slots of the state log; none where nobody says."""
    try:
        return items_of(answer_of(admin_url, "state-log"))
    except ClientFailed:
        return []


def _runs_of(admin_url: str, group_id: str, share_partition: Item) -> tuple[Sequence[Item], int | None]:
    """Return what is in flight, and when that was told."""
    if not share_partition["live"] and not share_partition["inFlightCount"]:
        return [], None
    query = {
        "group": group_id,
        "topic": share_partition["topicId"],
        "partition": share_partition["partition"],
    }
    answer = answer_of(admin_url, "in-flight", query=query)
    return items_of(answer), moment_of(answer)


def _held_by_idle(admin_url: str, group: Item, sessions: Sequence[Item]) -> Mapping[str, int] | None:
    """Return how many records members hold if any of them may hang; None where it is too much to ask for."""
    if not _asking_for_nothing(group, sessions):
        return {}
    if sum(each["inFlightCount"] for each in group["sharePartitions"]) > MOST_HELD:
        return None
    query = {"group": group["groupId"], "state": _ACQUIRED}
    return _held(items_of(answer_of(admin_url, "in-flight", query=query)))


def _asking_for_nothing(group: Item, sessions: Sequence[Item]) -> list[tuple[Item, int | None]]:
    """Return the members that are heard and have asked for nothing for long, by member id, each with for how long."""
    idle: dict[str, int] = {}
    for session in sessions:
        member_id = session["memberId"]
        idle[member_id] = min(idle_ms(session), idle.get(member_id, sys.maxsize))
    heard = [(member, idle.get(member["memberId"])) for member in group["members"] if not is_silent(member)]
    quiet = [(member, quiet_ms) for member, quiet_ms in heard if quiet_ms is None or quiet_ms >= HUNG_MS]
    return sorted(quiet, key=lambda each: str(each[0]["memberId"]))


def _held(runs: Sequence[Item]) -> Mapping[str, int]:
    held: dict[str, int] = {}
    for run in runs:
        if run["state"] == _ACQUIRED:
            number = run["lastOffset"] + 1 - run["firstOffset"]
            held[run["memberId"]] = held.get(run["memberId"], 0) + number
    return held


def moment_of(answer: Mapping[str, Any]) -> int:
    """Return when an answer was given, by kproxy's clock on the wall."""
    try:
        return timestamp_ms_of(str(answer.get("asOf")))
    except ValueError as error:
        raise ClientFailed(f"the admin port did not answer as a kproxy does: no asOf ({error})") from error


def _none_there(group: Item, place: Place) -> str:
    there = sorted({each["topicName"] or each["topicId"] for each in group["sharePartitions"]})
    wanted = " ".join(
        filter(
            None,
            (
                place.topic and f"topic {place.topic!r}",
                None if place.partition is None else f"partition {place.partition}",
            ),
        )
    )
    names = ", ".join(there) if there else "none so far"
    return f"share group {group['groupId']!r} has nothing of {wanted}; it consumes {names}"
