"""`InspectableFleet`: several processes that are looked into, each of which holds the groups of its own slots."""

import asyncio
import json
from collections.abc import Mapping, Sequence

from kproxy.admin.fleet.own_part import OwnPart
from kproxy.admin.peer_views import PeerAnswer, PeerSilent
from kproxy.admin.questions import question_of
from kproxy.fleet.owners import Peer
from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.described_answers import require_described
from tests.in_memory.inspectable import ORDERS, PAYMENTS, Answer, Inspectable, acquire


class OwnersSeenBy:
    """`SlotOwners` as the process `own_name` sees them."""

    def __init__(self, fleet: "InspectableFleet", own_name: str) -> None:
        self._fleet = fleet
        self.own_name = own_name
        self.own_token = f"token of {own_name}"

    def peers(self) -> Sequence[Peer]:
        others = dict.fromkeys(name for name in self._fleet.owners if name not in {"", self.own_name})
        return [peer_named(name) for name in others]

    def peer_of_slot(self, slot: int) -> Peer | None:
        owner = self._fleet.owners[slot]
        return None if owner in {"", self.own_name} else peer_named(owner)

    def peer_of_group(self, group_id: str) -> Peer | None:
        return self.peer_of_slot(self._fleet.slot_of(group_id))


class InspectableFleet:
    """Processes by name; `owners` has that of each slot, empty for nobody. Serves as `PeerViews` of all of them."""

    def __init__(self, *owners: str) -> None:
        self.owners = owners
        self.processes: Mapping[str, Inspectable] = {
            name: Inspectable() for name in dict.fromkeys(owners) if name
        }
        self.silent: dict[str, str] = {}
        """Who does not answer, with what is said of it."""
        self.broken: dict[str, PeerAnswer] = {}
        """Who answers something else."""
        self.asked: list[tuple[str, str, int]] = []
        """Who was asked which path, with how much patience."""
        for name, process in self.processes.items():
            process.owners, process.peer_views = OwnersSeenBy(self, name), self
            for slot, owner in enumerate(owners):
                elsewhere = SlotState.ELSEWHERE if owner else SlotState.UNASSIGNED
                reason = f"{owner} owns it" if owner else "it is on the way to its next owner"
                is_own = owner == name
                process.state_log.add(
                    slot, SlotState.READY if is_own else elsewhere, reason="" if is_own else reason
                )

    def slot_of(self, group_id: str) -> int:
        return group_partition(GroupId(group_id), len(self.owners))

    def of(self, group_id: str) -> Inspectable:
        """Return the process that holds a group."""
        return self.processes[self.owners[self.slot_of(group_id)]]

    def group_of(self, owner: str, *, beginning: str = "group") -> str:
        """Return the id of a group that lives in a slot of `owner`."""
        return next(
            group_id
            for group_id in (f"{beginning}-{number}" for number in range(1_000))
            if self.owners[self.slot_of(group_id)] == owner
        )

    async def ask(self, peer: Peer, path: str, *, patience_ms: int) -> PeerAnswer:
        self.asked.append((peer.name, path, patience_ms))
        if peer.name in self.silent:
            raise PeerSilent(self.silent[peer.name])
        if peer.name in self.broken:
            return self.broken[peer.name]
        process = self.processes[peer.name]
        part = OwnPart(process.answers(), operators=process.performance(), events=process.own_events())
        return await part.tell(path)

    def answer(self, asked: str, path: str) -> Answer:
        """Return what the process `asked` answers to a path."""
        answers = self.processes[asked].answers()
        answer = asyncio.run(answers.answer(question_of(path)))
        told = Answer(answer.status, json.loads("".join(answer.pieces)))
        require_described(told.body)
        return told


def peer_named(name: str) -> Peer:
    """Return the process of that name."""
    return Peer(f"token of {name}", name, "127.0.0.1", 9)


def fill(process: Inspectable, group_id: str, member_ids: set[str]) -> None:
    """Let members join a group, open a session each, and acquire records of a partition of either topic."""
    for number, member_id in enumerate(sorted(member_ids)):
        process.join(member_id, group_id=group_id)
        process.open_session(member_id, (ORDERS, number), group_id=group_id, node_id=number)
        topic_id = (ORDERS, PAYMENTS)[number]
        acquire(process.share_partition(group_id=group_id, topic_id=topic_id), member_id, 100, 104 + number)


def two_processes() -> InspectableFleet:
    """Two processes with a slot each, and a group in either: that of kproxy-a with alice, that of kproxy-b with bob."""
    fleet = InspectableFleet("kproxy-a", "kproxy-b")
    for owner, member_id in (("kproxy-a", "alice"), ("kproxy-b", "bob")):
        fill(fleet.processes[owner], fleet.group_of(owner), {member_id})
    return fleet
