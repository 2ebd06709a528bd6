"""Records of the state log for people and scripts: the field names are Kafka's, what is kproxy's own is decoded beside.

Keys and values look as Kafka's `ShareGroupStateMessageFormatter` prints them.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from kproxy.clients.tables import cell_text
from kproxy.errors import CorruptStateRecord
from kproxy.notation import camel_case, iso_time
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.statelog.actors import ACTOR_HEADER, Actor, RecordEnd, decode_actor
from kproxy.statelog.claims import claim_epoch_of
from kproxy.statelog.group_records import decode_group_record
from kproxy.statelog.log_messages import VALUE_VERSION, decode_key, decode_value
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.message_schema import Message, MessagePart
from kproxy.wire.messages.kproxy_claim_key import KproxyClaimKey
from kproxy.wire.messages.kproxy_claim_value import KproxyClaimValue
from kproxy.wire.messages.kproxy_group_configs_key import KproxyGroupConfigsKey
from kproxy.wire.messages.kproxy_group_configs_value import KproxyGroupConfigsValue
from kproxy.wire.messages.kproxy_recovery_point_key import KproxyRecoveryPointKey
from kproxy.wire.messages.kproxy_recovery_point_value import KproxyRecoveryPointValue
from kproxy.wire.messages.kproxy_state_topic_facts_key import KproxyStateTopicFactsKey
from kproxy.wire.messages.kproxy_state_topic_facts_value import KproxyStateTopicFactsValue
from kproxy.wire.messages.share_group_current_member_assignment_key import (
    ShareGroupCurrentMemberAssignmentKey,
)
from kproxy.wire.messages.share_group_current_member_assignment_value import (
    ShareGroupCurrentMemberAssignmentValue,
)
from kproxy.wire.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from kproxy.wire.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from kproxy.wire.messages.share_group_metadata_key import ShareGroupMetadataKey
from kproxy.wire.messages.share_group_metadata_value import ShareGroupMetadataValue
from kproxy.wire.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from kproxy.wire.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue,
)
from kproxy.wire.messages.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from kproxy.wire.messages.share_group_target_assignment_member_value import (
    ShareGroupTargetAssignmentMemberValue,
)
from kproxy.wire.messages.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey,
)
from kproxy.wire.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from kproxy.wire.messages.share_snapshot_key import ShareSnapshotKey
from kproxy.wire.messages.share_snapshot_value import ShareSnapshotValue
from kproxy.wire.messages.share_update_key import ShareUpdateKey
from kproxy.wire.messages.share_update_value import ShareUpdateValue
from kproxy.wire.records import Record

JsonObject: TypeAlias = dict[str, object]

TOMBSTONE: Final = "Tombstone"
UNDECODABLE: Final = "Undecodable"
TABLE_HEADER: Final = ("PARTITION", "OFFSET", "TIMESTAMP", "TYPE", "KEY", "CLAIM", "CAUSES", "VALUE")

_VALUE_CLASSES: Final[Mapping[type[Message], type[Message]]] = {
    ShareSnapshotKey: ShareSnapshotValue,
    ShareUpdateKey: ShareUpdateValue,
    ShareGroupMetadataKey: ShareGroupMetadataValue,
    ShareGroupMemberMetadataKey: ShareGroupMemberMetadataValue,
    ShareGroupTargetAssignmentMetadataKey: ShareGroupTargetAssignmentMetadataValue,
    ShareGroupTargetAssignmentMemberKey: ShareGroupTargetAssignmentMemberValue,
    ShareGroupCurrentMemberAssignmentKey: ShareGroupCurrentMemberAssignmentValue,
    ShareGroupStatePartitionMetadataKey: ShareGroupStatePartitionMetadataValue,
    KproxyClaimKey: KproxyClaimValue,
    KproxyGroupConfigsKey: KproxyGroupConfigsValue,
    KproxyRecoveryPointKey: KproxyRecoveryPointValue,
    KproxyStateTopicFactsKey: KproxyStateTopicFactsValue,
}
_KEY_CLASSES: Final = {key_class.SCHEMA.api_key or 0: key_class for key_class in _VALUE_CLASSES}


class LogTopic(StrEnum):
    """Which of the two topics of the state log."""

    STATE = "state"
    GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One record of a log partition. `key` is None when it cannot be decoded, and `error` says why."""

    topic: str
    partition: int
    record: Record
    key: Message | None
    value: Message | None
    claim_epoch: int | None
    error: str = ""

    @property
    def record_type(self) -> str:
        """Return Kafka's name of the record, `Tombstone` without a value, or `Undecodable`."""
        if self.key is None:
            return UNDECODABLE
        return TOMBSTONE if self.value is None else type(self.key).__name__.removesuffix("Key")

    @property
    def is_claim(self) -> bool:
        """Whether the record claims the log partition."""
        return isinstance(self.key, KproxyClaimKey)


def line_of(kind: LogTopic, topic: str, partition: int, record: Record) -> LogLine:
    """Return a record with its key and value, or with the reason why replay would not take it."""
    try:
        if kind is LogTopic.STATE:
            decode_state_record(record)
        else:
            decode_group_record(record)
        key = decode_key(record.key, _KEY_CLASSES)
        value = None if record.value is None else decode_value(record.value, _VALUE_CLASSES[type(key)])
        return LogLine(topic, partition, record, key, value, claim_epoch_of(record.headers))
    except CorruptStateRecord as error:
        return LogLine(topic, partition, record, None, None, None, error.reason)


def json_of(line: LogLine) -> JsonObject:
    """Return all of a record. Bytes that nobody can read are in base64."""
    record = line.record
    shown: JsonObject = {
        "topic": line.topic,
        "partition": line.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "claimEpoch": line.claim_epoch,
        "headers": [_header(name, value) for name, value in record.headers],
    }
    if line.key is None:
        raw = {"keyBytes": _base64(record.key), "valueBytes": _base64(record.value)}
        return {**shown, "key": None, "value": None, "error": line.error, **raw}
    value = None if line.value is None else {"version": VALUE_VERSION, "data": _data(line.value)}
    return {**shown, "key": {"type": line.key.SCHEMA.api_key, "data": _data(line.key)}, "value": value}


def row_of(line: LogLine) -> list[str]:
    """Return the cells of a record under TABLE_HEADER."""
    key = "" if line.key is None else ":".join(map(str, _data(line.key).values()))
    value = None if line.value is None else json.dumps(_data(line.value), separators=(",", ":"))
    cells = [
        line.partition,
        line.record.offset,
        iso_time(line.record.timestamp_ms) if line.record.timestamp_ms >= 0 else None,
        line.record_type,
        key,
        line.claim_epoch,
        ",".join(_causes(line.record)),
        line.error or value,
    ]
    return [cell_text(cell) for cell in cells]


def _data(message: Message | MessagePart) -> JsonObject:
    """Return the fields of a message under Kafka's names."""
    return {
        camel_case(field.name): _field(getattr(message, field.name), is_uuid=field.wire_type == "uuid")
        for field in message.SCHEMA.fields
    }


def _field(value: object, *, is_uuid: bool) -> object:
    match value:
        case MessagePart():
            return _data(value)
        case list():
            return [_field(element, is_uuid=is_uuid) for element in value]
        case bytes():
            return topic_id_text(TopicId(value)) if is_uuid else _base64(value)
        case _:
            return value


def _header(name: str, value: bytes | None) -> JsonObject:
    if name != ACTOR_HEADER:
        return {"key": name, "value": _base64(value)}
    try:
        actor = decode_actor(value)
    except CorruptStateRecord as error:
        return {"key": name, "value": _base64(value), "error": error.reason}
    ranges = [{"firstOffset": first, "lastOffset": last} for first, last in actor.offset_ranges]
    decoded = {
        "version": actor.version,
        "cause": actor.cause.value,
        "acknowledgeType": None if actor.acknowledge_type is None else actor.acknowledge_type.name.lower(),
        "end": None if actor.end is None else actor.end.value,
        "memberId": actor.member_id,
        "clientId": actor.client_id,
        "clientHost": actor.client_host,
        "offsetRanges": ranges,
    }
    return {"key": name, "value": decoded}


def _causes(record: Record) -> list[str]:
    causes: dict[str, None] = {}
    for name, value in record.headers:
        if name == ACTOR_HEADER:
            try:
                causes[_gist(decode_actor(value))] = None
            except CorruptStateRecord:
                causes["?"] = None
    return list(causes)


def _gist(actor: Actor) -> str:
    """Return in a word what was done: the type of an acknowledgement or the cause, and if that was at the limit."""
    what = actor.cause.value if actor.acknowledge_type is None else actor.acknowledge_type.name.lower()
    return f"{what}+{RecordEnd.DELIVERY_LIMIT}" if actor.is_at_delivery_limit else what


def _base64(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode("ascii")
