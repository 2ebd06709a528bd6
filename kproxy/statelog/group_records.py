"""Records of the groups topic: share groups in Kafka's own record formats, and four record types of our own.

Types 10 to 15 are those of `__consumer_offsets` in Kafka 4.3.1. The topic is compacted: the last value of a key wins,
and a null value removes it. Equal parts have equal bytes, so that what changed is told by comparing bytes.

Source: `GroupCoordinatorRecordHelpers`; schemas/state_log.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.statelog.claims import Claim, claim_epoch_of, claim_header, claim_messages, claim_of
from kproxy.statelog.group_parts import GroupPart
from kproxy.statelog.group_values import PART_KEY_CLASSES, decode_part, part_messages
from kproxy.statelog.log_messages import decode_key, decode_value, encode_key, encode_value
from kproxy.wire.codecs import Message
from kproxy.wire.messages.kproxy_claim_key import KproxyClaimKey
from kproxy.wire.messages.kproxy_claim_value import KproxyClaimValue
from kproxy.wire.messages.kproxy_group_configs_key import KproxyGroupConfigsKey
from kproxy.wire.messages.kproxy_group_configs_value import GroupConfig, KproxyGroupConfigsValue
from kproxy.wire.messages.kproxy_recovery_point_key import KproxyRecoveryPointKey
from kproxy.wire.messages.kproxy_recovery_point_value import KproxyRecoveryPointValue
from kproxy.wire.messages.kproxy_state_topic_facts_key import KproxyStateTopicFactsKey
from kproxy.wire.messages.kproxy_state_topic_facts_value import KproxyStateTopicFactsValue
from kproxy.wire.records import Record
from kproxy.wording import counted


@dataclass(frozen=True, slots=True)
class GroupConfigs:
    """Every configuration that was set for a group, by key."""

    group_id: GroupId
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SignOfLife:
    """`owner`, as its claim names it, served from the log at `alive_at_ms` (since the epoch), for `fleet_group`.

    With `has_left` it was the last thing that it did.
    """

    owner: str
    alive_at_ms: int
    has_left: bool = False
    fleet_group: str = ""


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """Replay of the state topic's partition of the same number may begin at `offset`.

    `applied_offset` is the last one that was durable there when this was written, -1 when that is not said: a log
    that ends before it has lost records. `sign` tells whoever starts next that somebody serves from the log.
    """

    offset: int
    applied_offset: int = -1
    sign: SignOfLife | None = None

    @property
    def known_end(self) -> int:
        """The highest offset at which the log is known to have had a record; -1 for none."""
        return max(self.offset, self.applied_offset)


@dataclass(frozen=True, slots=True)
class StateTopicFacts:
    """What may never change: how many partitions both topics have; and the format that the records are in."""

    partition_count: int
    format_version: int


@dataclass(frozen=True, slots=True)
class GroupTombstone:
    """The record with `key`, its bytes, is gone. `group_id` is None, and `member_id` too, where the key names none."""

    key: bytes
    record_type: int
    group_id: GroupId | None = None
    member_id: MemberId | None = None


GroupRecord: TypeAlias = GroupPart | GroupConfigs | RecoveryPoint | StateTopicFacts | Claim


@dataclass(frozen=True, slots=True)
class DecodedGroupRecord:
    """A record of the groups topic. `claim_epoch` is None where the header is missing: claims, and foreign records."""

    record: GroupRecord | GroupTombstone
    claim_epoch: int | None


_KEY_CLASSES: Final[Mapping[int, type[Message]]] = {
    **PART_KEY_CLASSES,
    **{
        key_class.SCHEMA.api_key or 0: key_class
        for key_class in (
            *(KproxyClaimKey, KproxyGroupConfigsKey, KproxyRecoveryPointKey, KproxyStateTopicFactsKey),
        )
    },
}


def encode_group_record(record: GroupRecord, *, claim_epoch: int | None) -> Record:
    """Return the log record, with the claim epoch in a header; None for a claim itself."""
    key, value = _messages(record)
    return _log_record(encode_key(key), encode_value(value), claim_epoch)


def encode_group_tombstone(key: bytes, *, claim_epoch: int | None) -> Record:
    """Return the log record that removes the one with `key`, as `encode_group_record` made it."""
    return _log_record(key, None, claim_epoch)


def encode_group_key(record_type: int, group_id: GroupId | None, member_id: MemberId | None) -> bytes:
    """Return the key that `encode_group_record` gives a record of this type, of a group or a member if it names one."""
    names = [name for name in (group_id, member_id) if name is not None]
    return encode_key(_KEY_CLASSES[record_type](*names))


def decode_group_record(record: Record) -> DecodedGroupRecord:
    """Return what a log record says.

    Raises:
        UnsupportedStateRecord: a record of a newer format, of which this kproxy can make nothing.
        CorruptStateRecord: undecodable, of an unknown type, or with values that cannot be. Carries the offset.
    """
    try:
        key = decode_key(record.key, _KEY_CLASSES)
        decoded = _tombstone(key, record) if record.value is None else _decode(key, record.value)
        return DecodedGroupRecord(decoded, claim_epoch_of(record.headers))
    except CorruptStateRecord as error:
        raise type(error)(error.reason, offset=record.offset) from error


def _log_record(key: bytes, value: bytes | None, claim_epoch: int | None) -> Record:
    return Record(key, value, () if claim_epoch is None else (claim_header(claim_epoch),))


def _messages(record: GroupRecord) -> tuple[Message, Message]:
    match record:
        case GroupConfigs():
            configs = [GroupConfig(name, value) for name, value in sorted(record.values.items())]
            return KproxyGroupConfigsKey(record.group_id), KproxyGroupConfigsValue(configs)
        case RecoveryPoint():
            return KproxyRecoveryPointKey(), _recovery_point_value(record)
        case StateTopicFacts():
            value = KproxyStateTopicFactsValue(record.partition_count, record.format_version)
            return KproxyStateTopicFactsKey(), value
        case Claim():
            return claim_messages(record)
        case _:
            return part_messages(record)


def _tombstone(key: Message, record: Record) -> GroupTombstone:
    group_id, member_id = getattr(key, "group_id", None), getattr(key, "member_id", None)
    return GroupTombstone(record.key or b"", key.SCHEMA.api_key or 0, group_id, member_id)


def _decode(key: Message, value: bytes) -> GroupRecord:
    match key:
        case KproxyClaimKey():
            return claim_of(decode_value(value, KproxyClaimValue))
        case KproxyGroupConfigsKey():
            configs = decode_value(value, KproxyGroupConfigsValue).configs
            return GroupConfigs(GroupId(key.group_id), {config.key: config.value for config in configs})
        case KproxyRecoveryPointKey():
            return _recovery_point(decode_value(value, KproxyRecoveryPointValue))
        case KproxyStateTopicFactsKey():
            return _facts(decode_value(value, KproxyStateTopicFactsValue))
        case _:
            return decode_part(key, value)


def _recovery_point(value: KproxyRecoveryPointValue) -> RecoveryPoint:
    if value.offset < 0:
        raise CorruptStateRecord(f"recovery point {value.offset}")
    signature = (value.owner, value.alive_at_ms, value.has_left, value.fleet_group)
    sign = SignOfLife(*signature) if value.owner else None
    return RecoveryPoint(value.offset, value.applied_offset, sign)


def _recovery_point_value(point: RecoveryPoint) -> KproxyRecoveryPointValue:
    sign = point.sign
    if sign is None:
        return KproxyRecoveryPointValue(point.offset, point.applied_offset)
    return KproxyRecoveryPointValue(
        point.offset, point.applied_offset, sign.owner, sign.alive_at_ms, sign.has_left, sign.fleet_group
    )


def _facts(value: KproxyStateTopicFactsValue) -> StateTopicFacts:
    """Return the facts, whatever their format: whoever starts up refuses a newer one, naming the remedy."""
    if value.partition_count < 1:
        raise CorruptStateRecord(f"state topics of {counted(value.partition_count, 'partition')}")
    return StateTopicFacts(value.partition_count, value.format_version)
