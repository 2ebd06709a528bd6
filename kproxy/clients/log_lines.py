"""Records of both topics of the state log, decoded: which messages they hold, or why replay would not take them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kproxy.errors import CorruptStateRecord
from kproxy.statelog.claims import claim_epoch_of
from kproxy.statelog.group_records import decode_group_record
from kproxy.statelog.log_messages import decode_key, decode_value
from kproxy.statelog.state_records import DELETION_MARK, decode_state_record
from kproxy.wire.message_schema import Message
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

TOMBSTONE: Final = "Tombstone"
UNDECODABLE: Final = "Undecodable"

VALUE_CLASSES: Final[Mapping[type[Message], type[Message]]] = {
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
"""Which message is the value of a record with which key."""

KEY_CLASSES: Final = {key_class.SCHEMA.api_key or 0: key_class for key_class in VALUE_CLASSES}
"""Which message is the key of a record of which type."""


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
    def is_deletion(self) -> bool:
        """Whether what the key names is no more: there is no value, or it is the early deletion marker."""
        if isinstance(self.value, ShareSnapshotValue):
            return self.value.snapshot_epoch == DELETION_MARK
        return self.key is not None and self.value is None

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
        key = decode_key(record.key, KEY_CLASSES)
        value = None if record.value is None else decode_value(record.value, VALUE_CLASSES[type(key)])
        return LogLine(topic, partition, record, key, value, claim_epoch_of(record.headers))
    except CorruptStateRecord as error:
        return LogLine(topic, partition, record, None, None, None, error.reason)
