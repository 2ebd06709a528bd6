"""`FleetMap`: the members of a fleet, and who of them owns which slot."""

from dataclasses import dataclass
from typing import Final

from kproxy.fleet.data_format import (
    MOST_CHARACTERS,
    MOST_MEMBERS,
    MOST_SLOTS,
    decode_data,
    encode_data,
    require_between,
    require_text,
)
from kproxy.fleet.member_metadata import LAST_EPOCH
from kproxy.wire.messages.fleet_map_message import FleetMapMember, FleetMapMessage

NOBODY: Final = -1
"""The place of a member that there is none of."""


@dataclass(frozen=True, slots=True)
class FleetMember:
    """One member, as all are told. `host` is empty and `port` 0 when what it said of itself could not be read.

    `refusal` says why it gets no slots; None when it may have some.
    """

    member_id: str
    token: str
    name: str
    host: str
    port: int
    is_leaving: bool = False
    refusal: str | None = None

    @property
    def may_own(self) -> bool:
        """Whether slots are given to it."""
        return self.refusal is None and not self.is_leaving


@dataclass(frozen=True, slots=True)
class FleetMap:
    """Every slot with its owner: the answer to "who serves this group?" until the next map.

    `epoch` orders all maps of one state log, also those of a group that was forgotten by its coordinator and begins
    anew with generation 1; a claim carries it. `owners` and `next_owners` have for each slot a place in `members`, or
    NOBODY. A slot with a next owner is still its owner's, who is to give it up.
    """

    epoch: int
    members: tuple[FleetMember, ...]
    owners: tuple[int, ...]
    next_owners: tuple[int, ...]

    @property
    def slot_count(self) -> int:
        """How many slots there are."""
        return len(self.owners)

    @property
    def has_moves(self) -> bool:
        """Whether any slot is to go from one member to another."""
        return any(place != NOBODY for place in self.next_owners)

    def member(self, member_id: str) -> FleetMember | None:
        """Return the member of that id."""
        return next((member for member in self.members if member.member_id == member_id), None)

    def owner_of(self, slot: int) -> FleetMember | None:
        """Return who owns a slot; None while nobody does."""
        return None if self.owners[slot] == NOBODY else self.members[self.owners[slot]]

    def next_owner_of(self, slot: int) -> FleetMember | None:
        """Return who is to get a slot from its owner; None when it stays."""
        return None if self.next_owners[slot] == NOBODY else self.members[self.next_owners[slot]]

    def slots_of(self, member_id: str) -> frozenset[int]:
        """Return the slots that a member owns, those included that it is to give up."""
        return frozenset(slot for slot in range(self.slot_count) if self._is_at(self.owners[slot], member_id))

    def leaving(self, member_id: str) -> frozenset[int]:
        """Return the slots that a member is to give up."""
        return frozenset(slot for slot in self.slots_of(member_id) if self.next_owners[slot] != NOBODY)

    def _is_at(self, place: int, member_id: str) -> bool:
        return place != NOBODY and self.members[place].member_id == member_id


def encode_map(fleet_map: FleetMap) -> bytes:
    """Return the bytes of a map."""
    members = [
        FleetMapMember(
            member_id=member.member_id,
            token=member.token,
            name=member.name,
            host=member.host,
            port=member.port,
            is_leaving=member.is_leaving,
            refusal=member.refusal,
        )
        for member in fleet_map.members
    ]
    owners, next_owners = list(fleet_map.owners), list(fleet_map.next_owners)
    return encode_data(FleetMapMessage(fleet_map.epoch, members, owners, next_owners))


def decode_map(data: bytes) -> FleetMap:
    """Return the map in `data`. Raises UnreadableFleetData, which says what is wrong with it."""
    message = decode_data(data, FleetMapMessage)
    require_between(len(message.members), "number of members", first=1, last=MOST_MEMBERS)
    slot_count = require_between(len(message.owners), "number of slots", first=1, last=MOST_SLOTS)
    require_between(len(message.next_owners), "number of next owners", first=slot_count, last=slot_count)
    member_count = len(message.members)
    return FleetMap(
        epoch=require_between(message.epoch, "map epoch", first=0, last=LAST_EPOCH),
        members=tuple(_member(each) for each in message.members),
        owners=_places(message.owners, "owner", member_count=member_count),
        next_owners=_places(message.next_owners, "next owner", member_count=member_count),
    )


def _member(message: FleetMapMember) -> FleetMember:
    for text, what in ((message.host, "host"), (message.token, "token"), (message.name, "name")):
        require_between(len(text), f"length of a {what}", first=0, last=MOST_CHARACTERS)
    return FleetMember(
        member_id=require_text(message.member_id, "member id"),
        token=message.token,
        name=message.name,
        host=message.host,
        port=message.port,
        is_leaving=message.is_leaving,
        refusal=message.refusal,
    )


def _places(places: list[int], what: str, *, member_count: int) -> tuple[int, ...]:
    for place in places:
        require_between(place, what, first=NOBODY, last=member_count - 1)
    return tuple(places)
