"""A group taken apart into records and put together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import MemberImage, ShareGroupImage
from kproxy.statelog.group_parts import (
    CurrentMemberAssignment,
    GroupMetadata,
    GroupPart,
    MemberMetadata,
    TargetAssignmentMember,
    image_of,
    parts_of,
)
from tests.in_memory.group_images import ALICE, GROUP, ORDERS, images


@given(images())
def test_a_group_is_the_sum_of_its_parts(image: ShareGroupImage) -> None:
    restored = image_of(parts_of(image))
    assert restored == image
    assert list(restored.members) == list(image.members)


@given(images(), st.randoms(use_true_random=False))
def test_the_order_of_the_parts_decides_nothing_but_who_joined_first(
    image: ShareGroupImage, random: object
) -> None:
    # Given
    parts: list[GroupPart] = list(parts_of(image))
    random.shuffle(parts)  # type: ignore[attr-defined]  # hypothesis gives a Random

    # When
    restored = image_of(parts)

    # Then
    assert restored == image


def test_a_group_without_state_has_no_record_of_it() -> None:
    # Given
    image = ShareGroupImage(GROUP, GroupEpoch(1), AssignmentEpoch(0), {}, {}, {}, {}, {})

    # When
    kinds = [type(part).__name__ for part in parts_of(image)]

    # Then
    assert kinds == ["GroupMetadata", "TargetAssignmentMetadata"]


def test_a_member_whose_assignment_is_missing_was_told_nothing_yet() -> None:
    # Given
    member = MemberMetadata(GROUP, ALICE, None, "app", "/10.0.0.1", frozenset({"orders"}))

    # When
    image = image_of([GroupMetadata(GROUP, GroupEpoch(4)), member])

    # Then
    assert image == ShareGroupImage(
        group_id=GROUP,
        group_epoch=GroupEpoch(4),
        assignment_epoch=AssignmentEpoch(0),
        members={
            ALICE: MemberImage(
                None, "app", "/10.0.0.1", frozenset({"orders"}), MemberEpoch(0), MemberEpoch(-1), frozenset()
            )
        },
        target={},
        initializing={},
        initialized={},
        deleting={},
    )


def test_an_assignment_whose_member_is_missing_is_dropped() -> None:
    # Given
    assigned = frozenset({TopicIdPartition(ORDERS, 0)})
    orphans: list[GroupPart] = [
        CurrentMemberAssignment(GROUP, ALICE, MemberEpoch(1), MemberEpoch(0), assigned),
        TargetAssignmentMember(GROUP, ALICE, assigned),
    ]

    # When
    image = image_of([*orphans, GroupMetadata(GROUP, GroupEpoch(4))])

    # Then
    assert image.members == {}
    assert image.target == {}


def test_records_of_a_group_that_nobody_knows_of_are_corrupt() -> None:
    with pytest.raises(CorruptStateRecord, match="without its ShareGroupMetadata"):
        image_of([TargetAssignmentMember(GroupId("g"), MemberId("m"), frozenset())])


def test_a_later_part_takes_the_place_of_an_earlier_one() -> None:
    image = image_of([GroupMetadata(GROUP, GroupEpoch(1)), GroupMetadata(GROUP, GroupEpoch(2))])
    assert image.group_epoch == 2
