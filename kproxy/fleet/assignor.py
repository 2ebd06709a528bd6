"""The assignor: sticky, balanced, and cooperative. The leader of a generation makes its map with it.

Source: KIP-429 (incremental cooperative rebalancing) and `AbstractStickyAssignor`. What differs: everybody is told
where a slot is to go, and an owner is asked for a few at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.errors import UnreadableFleetData
from kproxy.fleet.data_format import MOST_CHARACTERS
from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.fleet.member_metadata import LAST_EPOCH, NO_EPOCH, MemberMetadata, decode_member

UNREADABLE_NAME: Final = "?"


@dataclass(frozen=True, slots=True)
class AssignmentTerms:
    """What all members have to agree on, and how many slots one owner gives up in one generation at most."""

    slot_count: int
    state_format_version: int
    moves_at_once: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """The members of a generation by member id; `unreadable` ones with the reason."""

    members: Mapping[str, MemberMetadata] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, metadata: Mapping[str, bytes]) -> "Candidates":
        """Return what the members say of themselves; who cannot be read hurts nobody else."""
        members: dict[str, MemberMetadata] = {}
        unreadable: dict[str, str] = {}
        for member_id, data in metadata.items():
            try:
                members[member_id] = decode_member(data)
            except UnreadableFleetData as error:
                unreadable[member_id] = f"what it says of itself cannot be read: {error}"
        return cls(members, unreadable)


def assign(
    candidates: Candidates,
    terms: AssignmentTerms,
    *,
    refused: Mapping[str, str],
    previous: FleetMap | None = None,
    epoch_floor: int = 0,
    moved_at: Callable[[int], int] = lambda _slot: NO_EPOCH,
) -> FleetMap:
    """Return the map of the next generation; equal arguments give equal maps.

    1. A slot is its live owner's, whoever is to have it: nothing is taken from who may be serving. Of two that say they
       own a slot the one with the higher map epoch does. What a member owns that cannot be read the `previous` map
       says.
    2. Every member that may own slots has a quota; quotas differ by one at most, the larger ones go to who has most.
    3. Slots without an owner are given at once: to whom the `previous` map promised them, then to who had them, then
       to the members with most room.
    4. Of what an owner has beyond its quota `moves_at_once` slots get a next owner, in the same way: those that it has
       longest, so that what has just moved stays. Members that are leaving, or refused, have a quota of 0.

    Args:
        candidates: all members of the generation.
        terms: as the leader knows them; members with others are refused, with the reason.
        refused: other members that are to get no slots, and why: nobody reaches them.
        previous: the last map that the leader knows; None if none.
        epoch_floor: the least epoch that the map may have. It is above every epoch that a member knows of anyway; a
            wall clock makes it so, as a rule, after everybody was gone. Who finds a higher one in the log
            says so with its next join.
        moved_at: tells by the map of which epoch a slot came to its owner, as far as the leader knows.
    """
    refusals = _refusals(candidates, terms, refused)
    plan = _Plan(_owners_now(candidates, previous, terms.slot_count), previous)
    for member_id in sorted(candidates.members):
        if member_id not in refusals and not candidates.members[member_id].is_leaving:
            plan.receive(member_id)
    plan.share_out()
    plan.give_away_unowned()
    plan.mark_moves(terms.moves_at_once, moved_at)
    member_ids = sorted({*candidates.members, *candidates.unreadable})
    places = {member_id: place for place, member_id in enumerate(member_ids)}
    return FleetMap(
        epoch=_next_epoch(candidates, previous, epoch_floor),
        members=tuple(_told(member_id, candidates, refusals.get(member_id)) for member_id in member_ids),
        owners=tuple(NOBODY if owner is None else places[owner] for owner in plan.owners),
        next_owners=tuple(NOBODY if owner is None else places[owner] for owner in plan.next_owners),
    )


class _Plan:
    """Who owns what, while the map is made. Members stand by their ids, None for nobody."""

    def __init__(self, owners: Sequence[str | None], previous: FleetMap | None) -> None:
        self.owners = list(owners)
        self.next_owners: list[str | None] = [None] * len(owners)
        self._previous = previous if previous is not None and previous.slot_count == len(owners) else None
        self._receivers: list[str] = []
        self._quotas: dict[str, int] = {}
        self._room: Counter[str] = Counter()

    def receive(self, member_id: str) -> None:
        """Let a member have slots."""
        self._receivers.append(member_id)

    def share_out(self) -> None:
        """Give every receiver its quota, and room for what is missing to it."""
        if not self._receivers:
            return
        held = Counter(owner for owner in self.owners if owner is not None)
        least, larger_count = divmod(len(self.owners), len(self._receivers))
        by_held = sorted(self._receivers, key=lambda member_id: (-held[member_id], member_id))
        for rank, member_id in enumerate(by_held):
            self._quotas[member_id] = least + (rank < larger_count)
            self._room[member_id] = max(0, self._quotas[member_id] - held[member_id])

    def give_away_unowned(self) -> None:
        """Give each slot that nobody has to somebody with room."""
        unowned = [slot for slot, owner in enumerate(self.owners) if owner is None]
        for slot in unowned:
            self.owners[slot] = self._taker(slot)

    def mark_moves(self, moves_at_once: int, moved_at: Callable[[int], int]) -> None:
        """Mark what each owner has beyond its quota, `moves_at_once` slots of each at most."""
        slots_of: dict[str, list[int]] = {}
        for slot, owner in enumerate(self.owners):
            if owner is not None:
                slots_of.setdefault(owner, []).append(slot)
        for owner in sorted(slots_of):
            # What was to move already goes first, then what moved longest ago, and then the last ones.
            in_order = sorted(
                slots_of[owner], key=lambda slot: (self._promised(slot) is not None, -moved_at(slot), slot)
            )
            for slot in reversed(in_order[self._quotas.get(owner, 0) :][-moves_at_once:]):
                self.next_owners[slot] = self._taker(slot)

    def _taker(self, slot: int) -> str | None:
        """Return who gets a slot, and take that from its room; None when nobody has any."""
        with_room = [member_id for member_id in self._receivers if self._room[member_id]]
        if not with_room:
            return None
        liked = (self._promised(slot), self._owner_before(slot))
        taker = next((member_id for member_id in liked if member_id in with_room), None)
        if taker is None:
            taker = max(with_room, key=lambda member_id: self._room[member_id])
        self._room[taker] -= 1
        return taker

    def _promised(self, slot: int) -> str | None:
        return _id_of(self._previous.next_owner_of(slot)) if self._previous is not None else None

    def _owner_before(self, slot: int) -> str | None:
        return _id_of(self._previous.owner_of(slot)) if self._previous is not None else None


def _id_of(member: FleetMember | None) -> str | None:
    return None if member is None else member.member_id


def _refusals(
    candidates: Candidates, terms: AssignmentTerms, refused: Mapping[str, str]
) -> Mapping[str, str]:
    """Return who gets no slots, and why; reasons are cut to what a map holds."""
    found = dict(candidates.unreadable)
    for member_id, member in candidates.members.items():
        profile = member.profile
        if profile.state_format_version != terms.state_format_version:
            found[member_id] = (
                f"it writes format {profile.state_format_version} of the state log, "
                f"the others write {terms.state_format_version}"
            )
        elif profile.slot_count != terms.slot_count:
            found[member_id] = (
                f"its state log has {profile.slot_count} slots, that of the others {terms.slot_count}"
            )
        elif member_id in refused:
            found[member_id] = refused[member_id]
    return {member_id: reason[:MOST_CHARACTERS] for member_id, reason in found.items()}


def _owners_now(candidates: Candidates, previous: FleetMap | None, slot_count: int) -> Sequence[str | None]:
    """Return who owns each slot, by what the members say."""
    owners: list[tuple[int, str | None]] = [(NO_EPOCH, None)] * slot_count
    for member_id, epoch, slots in _ownerships(candidates, previous):
        for slot in slots:
            if slot < slot_count and epoch > owners[slot][0]:
                owners[slot] = (epoch, member_id)
    return [owner for _, owner in owners]


def _ownerships(
    candidates: Candidates, previous: FleetMap | None
) -> Iterable[tuple[str, int, frozenset[int]]]:
    for member_id in sorted(candidates.members):
        member = candidates.members[member_id]
        yield member_id, member.map_epoch, member.owned
    if previous is not None:
        for member_id in sorted(candidates.unreadable):
            yield member_id, previous.epoch, previous.slots_of(member_id)


def _next_epoch(candidates: Candidates, previous: FleetMap | None, epoch_floor: int) -> int:
    seen = [member.seen_epoch for member in candidates.members.values()]
    known = max([*seen, NO_EPOCH if previous is None else previous.epoch])
    return min(max(epoch_floor, known + 1), LAST_EPOCH)


def _told(member_id: str, candidates: Candidates, refusal: str | None) -> FleetMember:
    member = candidates.members.get(member_id)
    if member is None:
        return FleetMember(member_id, "", UNREADABLE_NAME, "", 0, refusal=refusal)
    profile = member.profile
    return FleetMember(
        member_id, profile.token, profile.name, profile.host, profile.port, member.is_leaving, refusal
    )
