"""The parts of a share group as the messages of Kafka's record types 10 to 15, and back."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

from kproxy.errors import CorruptStateRecord
from kproxy.share.group_topics import subscription
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import StatePartitions, StateTopics
from kproxy.statelog.group_parts import (
    CurrentMemberAssignment,
    GroupMetadata,
    GroupPart,
    MemberMetadata,
    StatePartitionMetadata,
    TargetAssignmentMember,
    TargetAssignmentMetadata,
)
from kproxy.statelog.log_messages import decode_value
from kproxy.wire.codecs import Message
from kproxy.wire.messages.share_group_current_member_assignment_key import (
    ShareGroupCurrentMemberAssignmentKey,
)
from kproxy.wire.messages.share_group_current_member_assignment_value import (
    ShareGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from kproxy.wire.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from kproxy.wire.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from kproxy.wire.messages.share_group_metadata_key import ShareGroupMetadataKey
from kproxy.wire.messages.share_group_metadata_value import ShareGroupMetadataValue
from kproxy.wire.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from kproxy.wire.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from kproxy.wire.messages.share_group_target_assignment_member_key import ShareGroupTargetAssignmentMemberKey
from kproxy.wire.messages.share_group_target_assignment_member_value import (
    ShareGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from kproxy.wire.messages.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey,
)
from kproxy.wire.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from kproxy.wording import counted

_KEY_CLASS_OF_PART: Final[Mapping[type[GroupPart], type[Message]]] = {
    GroupMetadata: ShareGroupMetadataKey,
    StatePartitionMetadata: ShareGroupStatePartitionMetadataKey,
    MemberMetadata: ShareGroupMemberMetadataKey,
    CurrentMemberAssignment: ShareGroupCurrentMemberAssignmentKey,
    TargetAssignmentMember: ShareGroupTargetAssignmentMemberKey,
    TargetAssignmentMetadata: ShareGroupTargetAssignmentMetadataKey,
}

PART_RECORD_TYPES: Final[Mapping[type[GroupPart], int]] = {
    part: key_class.SCHEMA.api_key or 0 for part, key_class in _KEY_CLASS_OF_PART.items()
}
"""The record types of the parts, in the order in which the parts of a group are written, should they need several
appends. The group comes first, and what says that an assignment is complete comes last, so that whatever was written
makes a group. Of a group that is being deleted it may have members still, and states that are not `deleting`."""

PART_KEY_CLASSES: Final[Mapping[int, type[Message]]] = {
    PART_RECORD_TYPES[part]: key_class for part, key_class in _KEY_CLASS_OF_PART.items()
}
"""The keys of the parts by record type."""

DELETING_PARTITIONS_TAG: Final = 27504
"""The tagged field of ours in a topic under deletion: which partitions, as int32 each. Kafka asks its metadata, but
the cluster may know the topic no more by the time that a deletion is resumed."""
FROM_ZERO_TAG: Final = 27505
"""The tagged field of ours in a topic being initialized: which partitions are to begin at offset 0, as int32 each. When
an initialization is resumed nobody remembers whether they were added to a topic that the group knew."""

BEING_DELETED_TAG: Final = 27506
"""The tagged field of ours, without content, of a group that is being deleted. It stands in the record that goes last,
so that a deletion which was interrupted is always found again."""

_Tags: TypeAlias = tuple[tuple[int, bytes], ...]

_NO_METADATA_HASH: Final = 0
_STABLE: Final = 0
_PARTITION_BYTES: Final = 4


class _Assigned(Protocol):
    """Partitions of one topic, in either of the two messages that have them."""

    topic_id: bytes
    partitions: list[int]


A = TypeVar("A", TopicPartitions, TopicPartition)


def part_messages(part: GroupPart) -> tuple[Message, Message]:
    """Return the key and the value of the record of `part`; what has no order of its own is sorted."""
    match part:
        case GroupMetadata():
            tags = ((BEING_DELETED_TAG, b""),) if part.is_being_deleted else ()
            value = ShareGroupMetadataValue(part.group_epoch, _NO_METADATA_HASH, tags)
            return ShareGroupMetadataKey(part.group_id), value
        case TargetAssignmentMetadata():
            return ShareGroupTargetAssignmentMetadataKey(
                part.group_id
            ), ShareGroupTargetAssignmentMetadataValue(part.assignment_epoch)
        case StatePartitionMetadata():
            return ShareGroupStatePartitionMetadataKey(part.group_id), _state_partition_value(part)
        case _:
            return _member_messages(part)


def decode_part(key: Message, value: bytes) -> GroupPart:
    """Return the part with a key of `PART_KEY_CLASSES`.

    Raises:
        UnsupportedStateRecord: a newer version of the value.
        CorruptStateRecord: bytes that are no such value, or a value that cannot be.
    """
    match key:
        case ShareGroupMetadataKey():
            return _group_metadata(key, decode_value(value, ShareGroupMetadataValue))
        case ShareGroupTargetAssignmentMetadataKey():
            epoch = decode_value(value, ShareGroupTargetAssignmentMetadataValue).assignment_epoch
            return TargetAssignmentMetadata(
                GroupId(key.group_id), AssignmentEpoch(_epoch(epoch, "assignment epoch"))
            )
        case ShareGroupStatePartitionMetadataKey():
            return _state_partition_metadata(key, decode_value(value, ShareGroupStatePartitionMetadataValue))
        case ShareGroupMemberMetadataKey():
            return _member_metadata(key, decode_value(value, ShareGroupMemberMetadataValue))
        case ShareGroupTargetAssignmentMemberKey():
            listed = decode_value(value, ShareGroupTargetAssignmentMemberValue).topic_partitions
            return TargetAssignmentMember(GroupId(key.group_id), MemberId(key.member_id), _assigned(listed))
        case ShareGroupCurrentMemberAssignmentKey():
            return _current_assignment(key, decode_value(value, ShareGroupCurrentMemberAssignmentValue))
        case _:
            raise AssertionError(f"{type(key).__name__} is the key of no part of a group")


def _member_messages(
    part: MemberMetadata | TargetAssignmentMember | CurrentMemberAssignment,
) -> tuple[Message, Message]:
    group_id, member_id = part.group_id, part.member_id
    match part:
        case MemberMetadata():
            return ShareGroupMemberMetadataKey(group_id, member_id), ShareGroupMemberMetadataValue(
                part.rack_id, part.client_id, part.client_host, sorted(part.subscribed_topic_names)
            )
        case TargetAssignmentMember():
            return ShareGroupTargetAssignmentMemberKey(
                group_id, member_id
            ), ShareGroupTargetAssignmentMemberValue(_by_topic(part.assigned, TopicPartition))
        case _:
            return ShareGroupCurrentMemberAssignmentKey(
                group_id, member_id
            ), ShareGroupCurrentMemberAssignmentValue(
                part.member_epoch,
                part.previous_member_epoch,
                _STABLE,
                _by_topic(part.assigned, TopicPartitions),
            )


def _by_topic(assigned: Iterable[TopicIdPartition], entry_class: type[A]) -> list[A]:
    partitions: dict[TopicId, list[int]] = {}
    for topic_id, number in assigned:
        if topic_id in partitions:
            partitions[topic_id].append(number)
        else:
            partitions[topic_id] = [number]
    for numbers in partitions.values():
        if len(numbers) > 1:
            numbers.sort()
    return [entry_class(topic_id, partitions[topic_id]) for topic_id in sorted(partitions)]


def _state_partition_value(part: StatePartitionMetadata) -> ShareGroupStatePartitionMetadataValue:
    return ShareGroupStatePartitionMetadataValue(
        _state_topics(part.initializing),
        _state_topics(part.initialized),
        [
            TopicInfo(topic_id, topic.topic_name, _partitions_tag(DELETING_PARTITIONS_TAG, topic.partitions))
            for topic_id, topic in sorted(part.deleting.items())
        ],
    )


def _state_topics(topics: StateTopics) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(
            topic_id,
            topic.topic_name,
            sorted(topic.partitions),
            _partitions_tag(FROM_ZERO_TAG, topic.from_zero) if topic.from_zero else (),
        )
        for topic_id, topic in sorted(topics.items())
    ]


def _partitions_tag(tag: int, partitions: Iterable[int]) -> _Tags:
    numbers = sorted(partitions)
    return ((tag, struct.pack(f">{len(numbers)}i", *numbers)),)


def _group_metadata(key: ShareGroupMetadataKey, value: ShareGroupMetadataValue) -> GroupMetadata:
    is_being_deleted = any(tag == BEING_DELETED_TAG for tag, _ in value.unknown_tagged_fields)
    return GroupMetadata(
        GroupId(key.group_id), GroupEpoch(_epoch(value.epoch, "group epoch")), is_being_deleted
    )


def _member_metadata(
    key: ShareGroupMemberMetadataKey, value: ShareGroupMemberMetadataValue
) -> MemberMetadata:
    return MemberMetadata(
        GroupId(key.group_id),
        MemberId(key.member_id),
        value.rack_id,
        value.client_id,
        value.client_host,
        subscription(value.subscribed_topic_names),
    )


def _current_assignment(
    key: ShareGroupCurrentMemberAssignmentKey, value: ShareGroupCurrentMemberAssignmentValue
) -> CurrentMemberAssignment:
    return CurrentMemberAssignment(
        GroupId(key.group_id),
        MemberId(key.member_id),
        MemberEpoch(_epoch(value.member_epoch, "member epoch")),
        MemberEpoch(_epoch(value.previous_member_epoch, "previous member epoch", lowest=-1)),
        _assigned(value.assigned_partitions),
    )


def _state_partition_metadata(
    key: ShareGroupStatePartitionMetadataKey, value: ShareGroupStatePartitionMetadataValue
) -> StatePartitionMetadata:
    deleting = {
        TopicId(topic.topic_id): StatePartitions(
            topic.topic_name, _tagged_partitions(DELETING_PARTITIONS_TAG, topic.unknown_tagged_fields)
        )
        for topic in value.deleting_topics
    }
    return StatePartitionMetadata(
        GroupId(key.group_id),
        _state_topics_of(value.initializing_topics),
        _state_topics_of(value.initialized_topics),
        deleting,
    )


def _state_topics_of(topics: Iterable[TopicPartitionsInfo]) -> StateTopics:
    return {
        TopicId(topic.topic_id): StatePartitions(
            topic.topic_name,
            numbers := frozenset(_partitions(topic.partitions)),
            numbers & _tagged_partitions(FROM_ZERO_TAG, topic.unknown_tagged_fields),
        )
        for topic in topics
    }


def _tagged_partitions(tag: int, tagged_fields: _Tags) -> frozenset[int]:
    """Return the partitions in a tag of ours; none stand in a topic that Kafka itself wrote."""
    for found, content in tagged_fields:
        if found == tag:
            if len(content) % _PARTITION_BYTES:
                raise CorruptStateRecord(f"{counted(len(content), 'byte')} of partitions in tag {tag}")
            return frozenset(_partitions(struct.unpack(f">{len(content) // _PARTITION_BYTES}i", content)))
    return frozenset()


def _assigned(topics: Iterable[_Assigned]) -> frozenset[TopicIdPartition]:
    return frozenset(
        TopicIdPartition(TopicId(topic.topic_id), partition)
        for topic in topics
        for partition in _partitions(topic.partitions)
    )


def _partitions(numbers: Sequence[int]) -> Sequence[int]:
    if any(number < 0 for number in numbers):
        raise CorruptStateRecord(f"partition {min(numbers)}")
    return numbers


def _epoch(epoch: int, what: str, *, lowest: int = 0) -> int:
    if epoch < lowest:
        raise CorruptStateRecord(f"{what} {epoch}")
    return epoch
