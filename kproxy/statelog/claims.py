"""Claims: the records with which a kproxy takes a log partition over, and the header that dates every other record.

The epoch of a claim is the offset of its own record; whoever writes under it says so in a header of each record, and
every fold passes over what a superseded owner wrote (architecture, "Non-obvious").
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.wire.messages.kproxy_claim_key import KproxyClaimKey
from kproxy.wire.messages.kproxy_claim_value import KproxyClaimValue

CLAIM_HEADER: Final = "kproxy.claim"
"""The header with the claim epoch under which a record was written: int64, big-endian."""

STATE_FORMAT_VERSION: Final = 2
"""The newest format of both logs that this kproxy reads, and the one it writes.

In format 1 share-partitions were spread over the state topic, each by the hash of its own key; since format 2 they
are all in the partition of their group. The records are the same.
"""

FIRST_FORMAT_BY_GROUP: Final = 2
"""Of earlier formats a running kproxy finds hardly any state; whoever reads all of the log finds everything."""

_EPOCH: Final = struct.Struct(">q")


NO_MAP_EPOCH: Final = -1
"""The map epoch of a claim that no map gave the right to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`owner`, in words for people, takes the log partition over and writes in `format_version` from here on.

    `map_epoch` is that of the fleet's map which gave it the partition, and `fleet_group` the fleet.
    """

    owner: str
    format_version: int
    map_epoch: int = NO_MAP_EPOCH
    fleet_group: str = ""


def claim_header(claim_epoch: int) -> tuple[str, bytes]:
    """Return the header of a record that is written under `claim_epoch`."""
    return CLAIM_HEADER, _EPOCH.pack(claim_epoch)


def claim_epoch_of(headers: Sequence[tuple[str, bytes | None]]) -> int | None:
    """Return the claim epoch in the headers of a record, None when they name none.

    Raises:
        CorruptStateRecord: it is no int64, negative, or there twice.
    """
    found = [value for name, value in headers if name == CLAIM_HEADER]
    if not found:
        return None
    if len(found) > 1 or found[0] is None or len(found[0]) != _EPOCH.size:
        raise CorruptStateRecord(f"{len(found)} claim headers, the first being {found[0]!r:.40}")
    (claim_epoch,) = _EPOCH.unpack(found[0])
    if claim_epoch < 0:
        raise CorruptStateRecord(f"claim epoch {claim_epoch}")
    return int(claim_epoch)


def claim_messages(claim: Claim) -> tuple[KproxyClaimKey, KproxyClaimValue]:
    """Return the key and the value of the record of `claim`."""
    return KproxyClaimKey(), KproxyClaimValue(
        claim.owner, claim.format_version, claim.map_epoch, claim.fleet_group
    )


def claim_of(value: KproxyClaimValue) -> Claim:
    """Return the claim in the value of a record. Raises UnsupportedStateRecord for a newer format of the log."""
    if value.format_version > STATE_FORMAT_VERSION:
        raise UnsupportedStateRecord.newer(
            f"format {value.format_version} of the log, claimed by {value.owner!r}", STATE_FORMAT_VERSION
        )
    return Claim(value.owner, value.format_version, value.map_epoch, value.fleet_group)
