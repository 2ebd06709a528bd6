"""An append of group records takes what there is room for, and says what of it is left."""

from collections.abc import Iterator

import pytest

from kproxy.errors import UnwritableStateRecord
from kproxy.share.identifiers import GroupId, MemberId, TopicId, TopicIdPartition
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.group_append import MOST_PARTITIONS, MOST_RECORDS, GroupAppend, WaitingGroup
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.group_parts import GroupPart, StatePartitionMetadata, TargetAssignmentMember
from kproxy.statelog.group_records import GroupConfigs, GroupRecord

CLAIM_EPOCH = 0
PLENTY = 2**20


def configured(count: int, value: str = "v") -> Iterator[GroupConfigs]:
    """Yield so many records."""
    return (GroupConfigs(GroupId(f"g{number}"), {"k": value}) for number in range(count))


def test_what_has_no_room_is_left_and_encoded_already() -> None:
    # Given
    append = GroupAppend(PLENTY, CLAIM_EPOCH)
    waiting = WaitingGroup(1, configured(MOST_RECORDS + 2), [])

    # When
    is_all = append.takes(waiting, "groups")
    left = waiting.no_room

    # Then
    assert not is_all
    assert len(append.changes) == MOST_RECORDS
    assert left is not None
    assert left.says == GroupConfigs(GroupId(f"g{MOST_RECORDS}"), {"k": "v"})
    assert GroupAppend(PLENTY, CLAIM_EPOCH).takes(waiting, "groups")


def test_nothing_is_taken_of_what_has_a_record_that_cannot_be() -> None:
    # Given
    append = GroupAppend(100, CLAIM_EPOCH)
    assert append.takes(WaitingGroup(1, configured(1), []), "small")

    # When
    with pytest.raises(UnwritableStateRecord):
        append.takes(WaitingGroup(1, configured(1, "v" * 100), []), "large")

    # Then
    assert len(append.changes) == 1


def test_what_is_durable_is_what_was_said() -> None:
    # Given
    append, fold = GroupAppend(PLENTY, CLAIM_EPOCH), GroupLogFold()
    append.takes(WaitingGroup(1, configured(2), []), "groups")

    # When
    append.replay_into(fold, 1)

    # Then
    assert fold.configs() == {"g0": {"k": "v"}, "g1": {"k": "v"}}
    assert fold.applied_offset == 2


# ---- records with very many partitions


def of_partitions(count: int, member_id: str = "m") -> TargetAssignmentMember:
    """A record with so many partitions of one topic, which take few bytes."""
    assigned = frozenset(TopicIdPartition(TopicId(bytes(16)), number) for number in range(count))
    return TargetAssignmentMember(GroupId("g"), MemberId(member_id), assigned)


def state_of(count: int) -> StatePartitionMetadata:
    """The same of what has state."""
    return StatePartitionMetadata(
        GroupId("g"), {}, {TopicId(bytes(16)): StatePartitions("t", frozenset(range(count)))}, {}
    )


@pytest.mark.parametrize("large", [of_partitions(MOST_PARTITIONS), state_of(MOST_PARTITIONS)])
def test_a_record_with_very_many_partitions_is_not_encoded_beside_another_one(large: GroupPart) -> None:
    """Two of 10,000 topics were encoded for 50 to 70 ms in the turn of one append, and one of them was in it."""
    # Given
    waiting = WaitingGroup(1, iter([of_partitions(1), large]), [])
    first, second = GroupAppend(PLENTY, CLAIM_EPOCH), GroupAppend(PLENTY, CLAIM_EPOCH)

    # When
    is_all = first.takes(waiting, "g")
    encoded_ahead = waiting.no_room
    is_all_then = second.takes(waiting, "g")

    # Then
    assert (is_all, encoded_ahead) == (False, None)
    assert is_all_then
    assert [[change.says for change in append.changes] for append in (first, second)] == [
        [of_partitions(1)],
        [large],
    ]


def test_an_append_has_as_many_records_as_have_not_very_many_partitions_together() -> None:
    # Given
    append = GroupAppend(PLENTY, CLAIM_EPOCH)
    records = [of_partitions(MOST_PARTITIONS // 4, f"m{number}") for number in range(6)]

    # When
    is_all = append.takes(WaitingGroup(1, iter(records), []), "g")

    # Then
    assert not is_all
    assert len(append.changes) == 4


def test_what_is_refused_leaves_the_room_that_there_was() -> None:
    # Given
    append = GroupAppend(50_000, CLAIM_EPOCH)
    refused: list[GroupRecord] = [
        of_partitions(MOST_PARTITIONS),
        GroupConfigs(GroupId("g"), {"k": "v" * 30_000, "l": "v" * 30_000}),
    ]

    # When
    with pytest.raises(UnwritableStateRecord):
        append.takes(WaitingGroup(1, iter(refused), []), "large")
    is_all = append.takes(
        WaitingGroup(1, iter([of_partitions(1), of_partitions(MOST_PARTITIONS - 1, "n")]), []), "g"
    )

    # Then
    assert is_all
    assert len(append.changes) == 2
