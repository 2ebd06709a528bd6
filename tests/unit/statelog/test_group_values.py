"""Parts of a group as Kafka's messages: golden bytes, and what cannot be."""

import pytest

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.group_parts import (
    CurrentMemberAssignment,
    GroupMetadata,
    GroupPart,
    MemberMetadata,
    StatePartitionMetadata,
    TargetAssignmentMember,
    TargetAssignmentMetadata,
)
from kproxy.statelog.group_values import PART_KEY_CLASSES, decode_part, part_messages
from kproxy.statelog.log_messages import encode_key, encode_value
from kproxy.wire.messages.share_group_state_partition_metadata_key import ShareGroupStatePartitionMetadataKey
from kproxy.wire.messages.share_group_state_partition_metadata_value import (
    ShareGroupStatePartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from kproxy.wire.messages.share_snapshot_key import ShareSnapshotKey
from tests.in_memory.group_images import ORDERS

GROUP, MEMBER = GroupId("g"), MemberId("m")
ORDERS_HEX = "00000000000000000000000000000001"
ASSIGNED = frozenset({TopicIdPartition(ORDERS, 3), TopicIdPartition(ORDERS, 1)})
ASSIGNED_HEX = f"02{ORDERS_HEX}03000000010000000300"
STATE = StatePartitions("t", frozenset({2}))


def a_current_assignment(*, epoch: int = 5, previous_epoch: int = 4) -> CurrentMemberAssignment:
    return CurrentMemberAssignment(GROUP, MEMBER, MemberEpoch(epoch), MemberEpoch(previous_epoch), ASSIGNED)


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        (
            MemberMetadata(GROUP, MEMBER, None, "c", "h", frozenset({"b", "a"})),
            "000a00016700016d",
            "00000002630268030261026200",
        ),
        (GroupMetadata(GROUP, GroupEpoch(7)), "000b000167", "000000000007000000000000000000"),
        # A group that is being deleted has the empty tag 27506.
        (
            GroupMetadata(GROUP, GroupEpoch(7), is_being_deleted=True),
            "000b000167",
            "000000000007000000000000000001f2d60100",
        ),
        (TargetAssignmentMetadata(GROUP, AssignmentEpoch(7)), "000c000167", "00000000000700"),
        (TargetAssignmentMember(GROUP, MEMBER, ASSIGNED), "000d00016700016d", f"0000{ASSIGNED_HEX}00"),
        (
            a_current_assignment(),
            "000e00016700016d",
            f"0000000000050000000400{ASSIGNED_HEX}00",
        ),
        (
            StatePartitionMetadata(GROUP, {ORDERS: STATE}, {}, {ORDERS: STATE}),
            "000f000167",
            # A topic under deletion carries its partitions in tag 27504, which Kafka's tools pass over.
            f"000002{ORDERS_HEX}02740200000002000102{ORDERS_HEX}027401f0d601040000000200",
        ),
        (
            StatePartitionMetadata(
                GROUP, {ORDERS: StatePartitions("t", frozenset({2, 3}), frozenset({3}))}, {}, {}
            ),
            "000f000167",
            # Partitions that are to begin at offset 0 stand in tag 27505.
            f"000002{ORDERS_HEX}027403000000020000000301f1d6010400000003010100",
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_part_has_kafkas_bytes(part: GroupPart, key: str, value: str) -> None:
    # When
    key_message, value_message = part_messages(part)

    # Then
    assert encode_key(key_message).hex() == key
    assert encode_value(value_message).hex() == value
    assert decode_part(key_message, bytes.fromhex(value)) == part
    assert type(key_message) is PART_KEY_CLASSES[key_message.SCHEMA.api_key or 0]


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (GroupMetadata(GROUP, GroupEpoch(-1)), "group epoch -1"),
        (TargetAssignmentMetadata(GROUP, AssignmentEpoch(-1)), "^assignment epoch -1"),
        (a_current_assignment(epoch=-1), "^member epoch -1"),
        (a_current_assignment(previous_epoch=-2), "previous member epoch -2"),
        (
            TargetAssignmentMember(GROUP, MEMBER, frozenset({TopicIdPartition(ORDERS, -1)})),
            "partition -1",
        ),
        (
            StatePartitionMetadata(GROUP, {}, {ORDERS: StatePartitions("t", frozenset({-3}))}, {}),
            "partition -3",
        ),
        (
            StatePartitionMetadata(GROUP, {}, {}, {ORDERS: StatePartitions("t", frozenset({-3}))}),
            "partition -3",
        ),
    ],
)
def test_a_part_that_cannot_be_is_corrupt(part: GroupPart, reason: str) -> None:
    key, value = part_messages(part)
    with pytest.raises(CorruptStateRecord, match=reason):
        decode_part(key, encode_value(value))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [((), frozenset()), (((1, b"other"),), frozenset()), (((27504, b""),), frozenset())],
)
def test_a_topic_under_deletion_that_kafka_wrote_has_no_known_partitions(
    tags: tuple[tuple[int, bytes], ...], expected: frozenset[int]
) -> None:
    # Given
    value = ShareGroupStatePartitionMetadataValue(deleting_topics=[TopicInfo(ORDERS, "t", tags)])

    # When
    part = decode_part(ShareGroupStatePartitionMetadataKey("g"), encode_value(value))

    # Then
    assert part == StatePartitionMetadata(GROUP, {}, {}, {ORDERS: StatePartitions("t", expected)})


@pytest.mark.parametrize(
    "value",
    [
        ShareGroupStatePartitionMetadataValue(
            deleting_topics=[TopicInfo(ORDERS, "t", ((27504, b"abc"),))],
        ),
        ShareGroupStatePartitionMetadataValue(
            initializing_topics=[TopicPartitionsInfo(ORDERS, "t", [1], ((27505, b"abc"),))],
        ),
    ],
)
def test_tagged_partitions_of_odd_size_are_corrupt(value: ShareGroupStatePartitionMetadataValue) -> None:
    with pytest.raises(CorruptStateRecord, match="3 bytes of partitions in tag 2750"):
        decode_part(ShareGroupStatePartitionMetadataKey("g"), encode_value(value))


@pytest.mark.parametrize("tags", [(), ((27505, bytes(3) + b"\x07"),)])
def test_nothing_begins_at_0_that_kafka_wrote_or_that_is_not_being_initialized(
    tags: tuple[tuple[int, bytes], ...],
) -> None:
    # Given
    value = ShareGroupStatePartitionMetadataValue([TopicPartitionsInfo(ORDERS, "t", [2], tags)])

    # When
    part = decode_part(ShareGroupStatePartitionMetadataKey("g"), encode_value(value))

    # Then
    assert part == StatePartitionMetadata(GROUP, {ORDERS: STATE}, {}, {})


def test_a_newer_version_of_a_part_is_unsupported() -> None:
    with pytest.raises(UnsupportedStateRecord):
        decode_part(ShareGroupStatePartitionMetadataKey("g"), b"\x00\x01")


def test_the_key_of_something_else_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="ShareSnapshotKey is the key of no part"):
        decode_part(ShareSnapshotKey(), b"")
