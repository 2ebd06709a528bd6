"""`MemberMetadata`: what a kproxy tells the leader of its fleet when it joins."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kproxy.errors import UnreadableFleetData
from kproxy.fleet.data_format import (
    MOST_SLOTS,
    decode_data,
    encode_data,
    require_between,
    require_text,
)
from kproxy.wire.messages.fleet_member_metadata import FleetMemberMetadata

NO_EPOCH: Final = -1
"""The epoch of who has no map yet."""

LAST_PORT: Final = 65_535
LAST_EPOCH: Final = 2**62
"""No epoch is higher, so that the next one always exists."""


@dataclass(frozen=True, slots=True)
class MemberProfile:
    """What stays the same as long as the process runs.

    `token` tells it from every other process, also from the one before it under the same name. `host` and `port` are
    where the others reach it. `slot_count` and `state_format_version` are those of the state log as it uses it.
    """

    token: str
    name: str
    host: str
    port: int
    kproxy_version: str
    state_format_version: int
    slot_count: int


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """One member, as it says of itself.

    `map_epoch` is that of the map from which it has what it owns, `seen_epoch` the highest that it knows of, from maps
    and from claims in the log; both are NO_EPOCH for none. A member that `is_leaving` wants to own nothing.
    """

    profile: MemberProfile
    owned: frozenset[int] = frozenset()
    map_epoch: int = NO_EPOCH
    seen_epoch: int = NO_EPOCH
    is_leaving: bool = False


def encode_member(member: MemberMetadata) -> bytes:
    """Return the bytes of `member`; the same member has the same bytes."""
    profile = member.profile
    return encode_data(
        FleetMemberMetadata(
            token=profile.token,
            name=profile.name,
            host=profile.host,
            port=profile.port,
            kproxy_version=profile.kproxy_version,
            state_format_version=profile.state_format_version,
            slot_count=profile.slot_count,
            is_leaving=member.is_leaving,
            map_epoch=member.map_epoch,
            seen_epoch=member.seen_epoch,
            owned_slots=sorted(member.owned),
        )
    )


def decode_member(data: bytes) -> MemberMetadata:
    """Return the member in `data`. Raises UnreadableFleetData, which says what is wrong with it."""
    message = decode_data(data, FleetMemberMetadata)
    profile = MemberProfile(
        token=require_text(message.token, "token"),
        name=require_text(message.name, "name"),
        host=require_text(message.host, "host"),
        port=require_between(message.port, "port", first=1, last=LAST_PORT),
        kproxy_version=require_text(message.kproxy_version, "version of kproxy"),
        state_format_version=message.state_format_version,
        slot_count=require_between(message.slot_count, "slot count", first=1, last=MOST_SLOTS),
    )
    seen_epoch = require_between(message.seen_epoch, "seen epoch", first=NO_EPOCH, last=LAST_EPOCH)
    map_epoch = require_between(message.map_epoch, "map epoch", first=NO_EPOCH, last=seen_epoch)
    owned = _owned(message.owned_slots, slot_count=profile.slot_count)
    if owned and map_epoch == NO_EPOCH:
        raise UnreadableFleetData("slots that are owned without a map")
    return MemberMetadata(profile, owned, map_epoch, seen_epoch, message.is_leaving)


def _owned(slots: list[int], *, slot_count: int) -> frozenset[int]:
    if any(before >= after for before, after in pairwise(slots)):
        raise UnreadableFleetData("owned slots that are not in rising order")
    for slot in slots:
        require_between(slot, "owned slot", first=0, last=slot_count - 1)
    return frozenset(slots)
