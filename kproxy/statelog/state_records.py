"""Records of the state log: the durable state of share-partitions, in Kafka's own bytes.

Keys and values are those of `__share_group_state` in Kafka 4.3.1 (4.4's are the same), so that Kafka's
`ShareGroupStateMessageFormatter` prints them. What is kproxy's own stands in record headers, and in a record type
that the formatter passes over.

Source: KIP-932, "Share-group state"; `ShareCoordinatorRecordHelpers`, `ShareSnapshotValue.json`.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import ACTOR_HEADER, Actor, decode_actor, encode_actor
from kproxy.statelog.claims import (
    CLAIM_HEADER,
    STATE_FORMAT_VERSION,
    Claim,
    claim_epoch_of,
    claim_header,
    claim_messages,
    claim_of,
)
from kproxy.statelog.log_messages import decode_key, decode_value, encode_key, encode_value
from kproxy.statelog.short_keys import remember_short_keys, remember_short_texts
from kproxy.wire.codecs import Message
from kproxy.wire.messages import share_snapshot_value, share_update_value
from kproxy.wire.messages.kproxy_claim_key import KproxyClaimKey
from kproxy.wire.messages.kproxy_claim_value import KproxyClaimValue
from kproxy.wire.messages.share_snapshot_key import ShareSnapshotKey
from kproxy.wire.messages.share_snapshot_value import ShareSnapshotValue
from kproxy.wire.messages.share_update_key import ShareUpdateKey
from kproxy.wire.messages.share_update_value import ShareUpdateValue
from kproxy.wire.records import Record
from kproxy.wording import counted

__all__ = [
    "ACTOR_HEADER",
    "CLAIM_HEADER",
    "DELETION_MARK",
    "STATE_FORMAT_VERSION",
    "Claim",
    "DecodedStateRecord",
    "ShareSnapshot",
    "ShareUpdate",
    "StateRecord",
    "StateTombstone",
    "decode_state_message",
    "decode_state_record",
    "encode_state_record",
]

DELETION_MARK: Final = -1
"""The snapshot epoch with which early builds of KIP-932 ended a state, before tombstones did."""
_DURABLE_STATES: Final[Mapping[int, RecordState]] = {
    state.value: state for state in RecordState if state is not RecordState.ACQUIRED
}
_KEY_CLASSES: Final[Mapping[int, type[Message]]] = {
    key_class.SCHEMA.api_key or 0: key_class
    for key_class in (ShareSnapshotKey, ShareUpdateKey, KproxyClaimKey)
}
_BYTES_OF_PLAIN_UPDATE: Final = 26
_BYTES_OF_PLAIN_BATCH: Final = 20
_MOST_PLAIN_BATCHES: Final = 100
_KEYS_REMEMBERED: Final = 65_536
"""Two for each share-partition. Records of all come in turns: whoever forgets keys decodes them again and again."""
_TAGS_OF_PLAIN_UPDATE: Final = [1, 0, 4]
"""One tagged field, number 0, of 4 bytes: the delivery-complete count, which kproxy always writes."""


@dataclass(frozen=True, slots=True)
class ShareSnapshot:
    """The whole durable state of a share-partition. What came before it no longer counts.

    `start_offset` and `delivery_complete_count` are -1 while unknown; timestamps count from the epoch. The state
    batches are ascending, disjoint and not below the start offset.
    """

    key: SharePartitionKey
    snapshot_epoch: SnapshotEpoch
    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    start_offset: int
    create_timestamp_ms: int
    write_timestamp_ms: int
    delivery_complete_count: int
    state_batches: tuple[StateBatch, ...]


@dataclass(slots=True)
class ShareUpdate:
    """What changed since the snapshot with the same `snapshot_epoch`, or since the update after it.

    A `start_offset` of -1 leaves it unchanged. The state batches come in any order. Never changed once made.
    """

    key: SharePartitionKey
    snapshot_epoch: SnapshotEpoch
    leader_epoch: LeaderEpoch
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[StateBatch, ...]


@dataclass(frozen=True, slots=True)
class StateTombstone:
    """The share-partition has no state any more: a snapshot's key without a value.

    A snapshot with the epoch -1 says the same, whatever else is in it: KIP-932's deletion marker before tombstones.
    """

    key: SharePartitionKey


StateRecord: TypeAlias = ShareSnapshot | ShareUpdate | StateTombstone | Claim


@dataclass(frozen=True, slots=True)
class DecodedStateRecord:
    """A record of the state log. `claim_epoch` is None where the header is missing: claims, and foreign records."""

    record: StateRecord
    claim_epoch: int | None
    actor_headers: tuple[bytes | None, ...] = ()

    @property
    def actors(self) -> tuple[Actor, ...]:
        """Who made the changes. Decoded when asked for: state does not depend on it, and replay never asks.

        Raises:
            CorruptStateRecord: a header that names no actor.
        """
        return tuple(decode_actor(header) for header in self.actor_headers)


def encode_state_record(record: StateRecord, *, claim_epoch: int | None, actors: Sequence[Actor]) -> Record:
    """Return the log record: Kafka's key and value, the claim epoch in a header, one header for each actor.

    `claim_epoch` is None for a claim itself, whose epoch is the offset that it is going to have.
    """
    headers = [] if claim_epoch is None else [claim_header(claim_epoch)]
    headers += [(ACTOR_HEADER, encode_actor(actor)) for actor in actors]
    return Record(*_encode_record(record), tuple(headers))


def decode_state_record(record: Record) -> DecodedStateRecord:
    """Return what a log record says.

    Raises:
        UnsupportedStateRecord: a record of a newer format, of which this kproxy can make nothing.
        CorruptStateRecord: undecodable, of an unknown type, or with values that cannot be. Carries the offset.
    """
    try:
        return DecodedStateRecord(
            decode_state_message(record.key, record.value),
            claim_epoch_of(record.headers),
            tuple([value for name, value in record.headers if name == ACTOR_HEADER]),
        )
    except CorruptStateRecord as error:
        raise type(error)(error.reason, offset=record.offset) from error


def decode_state_message(key_bytes: bytes | None, value: bytes | None) -> StateRecord:
    """Return what the key and the value of a log record say, headers apart. Raises as `decode_state_record` does."""
    key_class, key = _decode_key(key_bytes)
    if key is None:
        return claim_of(decode_value(value, KproxyClaimValue))
    if key_class is ShareUpdateKey:
        return _plain_update(key, value) or _update(key, decode_value(value, ShareUpdateValue))
    if value is None:
        return StateTombstone(key)
    snapshot = decode_value(value, ShareSnapshotValue)
    return StateTombstone(key) if snapshot.snapshot_epoch == DELETION_MARK else _snapshot(key, snapshot)


def _encode_record(record: StateRecord) -> tuple[bytes, bytes | None]:
    match record:
        case ShareUpdate():
            return _update_key(record.key), encode_value(_update_value(record))
        case ShareSnapshot():
            return _snapshot_key(record.key), encode_value(_snapshot_value(record))
        case StateTombstone():
            return _snapshot_key(record.key), None
        case _:
            key, value = claim_messages(record)
            return encode_key(key), encode_value(value)


@remember_short_texts(maxsize=_KEYS_REMEMBERED)
def _decode_key(key: bytes | None) -> tuple[type[Message], SharePartitionKey | None]:
    """Return what kind of key these bytes are, and of which share-partition; None for a claim's."""
    decoded = decode_key(key, _KEY_CLASSES)
    if not isinstance(decoded, ShareSnapshotKey | ShareUpdateKey):
        return type(decoded), None
    _require(decoded.partition >= 0, f"partition {decoded.partition}")
    return type(decoded), _share_partition_key(decoded.group_id, decoded.topic_id, decoded.partition)


@remember_short_texts(maxsize=_KEYS_REMEMBERED)
def _share_partition_key(group_id: str, topic_id: bytes, partition: int) -> SharePartitionKey:
    """Return the same key for all kinds of records: who finds the object itself in a dictionary compares no further."""
    return SharePartitionKey(GroupId(group_id), TopicId(topic_id), partition)


@lru_cache(maxsize=256)
def _update_struct(batch_count: int) -> struct.Struct:
    return struct.Struct(f">hiiqb{'qqbhb' * batch_count}bbbi")


def _plain_update(key: SharePartitionKey, value: bytes | None) -> ShareUpdate | None:
    """Return what the codec and the checks make of the value of an update, None where they have to say.

    Nearly all records are updates of a few batches, whose value has no other field than those of version 0: for
    these the layout follows from the length, and one step decodes them.
    """
    if value is None:
        return None
    batch_count, rest = divmod(len(value) - _BYTES_OF_PLAIN_UPDATE, _BYTES_OF_PLAIN_BATCH)
    if rest or not 0 <= batch_count <= _MOST_PLAIN_BATCHES:
        return None
    fields = _update_struct(batch_count).unpack(value)
    version, snapshot_epoch, leader_epoch, start_offset, length = fields[:5]
    *tags, complete_count = fields[-4:]
    if version or length != batch_count + 1 or tags != _TAGS_OF_PLAIN_UPDATE:
        return None
    if snapshot_epoch < 0 or min(leader_epoch, start_offset, complete_count) < -1:
        return None
    batches = []
    for at in range(5, len(fields) - 4, 5):
        first_offset, last_offset, delivery_state, delivery_count, tag = fields[at : at + 5]
        state = _DURABLE_STATES.get(delivery_state)
        if state is None or tag or delivery_count < 0 or not 0 <= first_offset <= last_offset:
            return None
        batches.append(StateBatch(first_offset, last_offset, state, delivery_count))
    return ShareUpdate(key, snapshot_epoch, leader_epoch, start_offset, complete_count, tuple(batches))


def _snapshot(key: SharePartitionKey, value: ShareSnapshotValue) -> ShareSnapshot:
    batches = _state_batches(value.state_batches)
    _require_plausible(value)
    _require(value.state_epoch >= -1, f"state epoch {value.state_epoch}")
    _require(
        all(before.last_offset < after.first_offset for before, after in pairwise(batches)),
        "the state batches of a snapshot are not ascending and disjoint",
    )
    _require(
        not batches or batches[0].first_offset >= value.start_offset,
        f"a state batch below the start offset {value.start_offset}",
    )
    return ShareSnapshot(
        key,
        SnapshotEpoch(value.snapshot_epoch),
        StateEpoch(value.state_epoch),
        LeaderEpoch(value.leader_epoch),
        value.start_offset,
        value.create_timestamp,
        value.write_timestamp,
        value.delivery_complete_count,
        batches,
    )


def _update(key: SharePartitionKey, value: ShareUpdateValue) -> ShareUpdate:
    _require_plausible(value)
    return ShareUpdate(
        key,
        SnapshotEpoch(value.snapshot_epoch),
        LeaderEpoch(value.leader_epoch),
        value.start_offset,
        value.delivery_complete_count,
        _state_batches(value.state_batches),
    )


def _require_plausible(value: ShareSnapshotValue | ShareUpdateValue) -> None:
    """Check what both kinds have. Epochs of -1 are possible: Kafka 4.3.1 takes them from other brokers unchecked."""
    _require(value.snapshot_epoch >= 0, f"snapshot epoch {value.snapshot_epoch}")
    _require(value.leader_epoch >= -1, f"leader epoch {value.leader_epoch}")
    _require(value.start_offset >= -1, f"start offset {value.start_offset}")
    _require(value.delivery_complete_count >= -1, f"delivery-complete count {value.delivery_complete_count}")


def _state_batches(
    batches: Sequence[share_snapshot_value.StateBatch | share_update_value.StateBatch],
) -> tuple[StateBatch, ...]:
    return tuple([_state_batch(batch) for batch in batches])


def _state_batch(batch: share_snapshot_value.StateBatch | share_update_value.StateBatch) -> StateBatch:
    state = _DURABLE_STATES.get(batch.delivery_state)
    if state is None:
        raise CorruptStateRecord(f"delivery state {batch.delivery_state}")
    if not 0 <= batch.first_offset <= batch.last_offset or batch.delivery_count < 0:
        raise CorruptStateRecord(
            f"state batch {batch.first_offset}-{batch.last_offset}, delivered {counted(batch.delivery_count, 'time')}"
        )
    return StateBatch(batch.first_offset, batch.last_offset, state, batch.delivery_count)


def _require(is_possible: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as an assertion
    if not is_possible:
        raise CorruptStateRecord(otherwise)


@remember_short_keys(maxsize=4096)
def _snapshot_key(key: SharePartitionKey) -> bytes:
    return encode_key(ShareSnapshotKey(key.group_id, key.topic_id, key.partition))


@remember_short_keys(maxsize=4096)
def _update_key(key: SharePartitionKey) -> bytes:
    return encode_key(ShareUpdateKey(key.group_id, key.topic_id, key.partition))


def _snapshot_value(snapshot: ShareSnapshot) -> ShareSnapshotValue:
    return ShareSnapshotValue(
        snapshot.snapshot_epoch,
        snapshot.state_epoch,
        snapshot.leader_epoch,
        snapshot.start_offset,
        snapshot.delivery_complete_count,
        snapshot.create_timestamp_ms,
        snapshot.write_timestamp_ms,
        [
            share_snapshot_value.StateBatch(
                batch.first_offset, batch.last_offset, batch.state, batch.delivery_count
            )
            for batch in snapshot.state_batches
        ],
    )


def _update_value(update: ShareUpdate) -> ShareUpdateValue:
    return ShareUpdateValue(
        update.snapshot_epoch,
        update.leader_epoch,
        update.start_offset,
        update.delivery_complete_count,
        [
            share_update_value.StateBatch(
                batch.first_offset, batch.last_offset, batch.state, batch.delivery_count
            )
            for batch in update.state_batches
        ],
    )
