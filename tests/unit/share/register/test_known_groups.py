"""Groups come as pictures, and go, all of a place at once."""

from dataclasses import replace

import pytest

from kproxy.share.identifiers import AssignmentEpoch, GroupEpoch, GroupId, MemberEpoch, MemberId, TopicId
from kproxy.share.limits import GroupLimits
from kproxy.share.register.known_groups import KnownGroups
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import MemberImage, ShareGroupImage, ShareGroupState, StatePartitions

A, B, C = GroupId("a"), GroupId("b"), GroupId("c")


def a_picture(group_id: GroupId) -> ShareGroupImage:
    return ShareGroupImage(
        group_id=group_id,
        group_epoch=GroupEpoch(7),
        assignment_epoch=AssignmentEpoch(7),
        members={},
        target={},
        initializing={},
        initialized={},
        deleting={},
    )


def a_member(*subscribed_topic_names: str) -> MemberImage:
    return MemberImage(
        rack_id=None,
        client_id="client-1",
        client_host="/10.0.0.7",
        subscribed_topic_names=frozenset(subscribed_topic_names),
        member_epoch=MemberEpoch(7),
        previous_member_epoch=MemberEpoch(6),
        assigned=frozenset(),
    )


TOPICS = [TopicId(bytes([number]) * 16) for number in range(4)]

A_PICTURE_WITH_TOPICS = replace(
    a_picture(A),
    members={
        MemberId("alice"): a_member("orders"),
        MemberId("bob"): a_member("orders", "refunds"),
    },
    initializing={TOPICS[0]: StatePartitions("orders", frozenset({0}))},
    initialized={
        TOPICS[0]: StatePartitions("orders", frozenset({1})),
        TOPICS[1]: StatePartitions("payments", frozenset({0})),
        TOPICS[2]: StatePartitions("refunds", frozenset({0})),
    },
    deleting={
        TOPICS[2]: StatePartitions("refunds", frozenset({1})),
        TOPICS[3]: StatePartitions("returns", frozenset({0})),
    },
)


def what_is_told_of(group_id: GroupId, groups: KnownGroups) -> object:
    return (
        set(groups.member_ids(group_id)),
        dict(groups.state_topic_names(group_id)),
        groups.subscribed_names(group_id),
    )


class Known:
    """Groups, and which of them were made of pictures."""

    def __init__(self) -> None:
        self.groups = KnownGroups()
        self.groups.placed.arrange((), lambda _: 0, lambda _: 0)
        self.made: list[GroupId] = []

    def restore(self, *group_ids: GroupId, place: int = 0) -> list[ShareGroup]:
        return list(
            self.groups.restore({each: a_picture(each) for each in group_ids}, self._make, place=place)
        )

    def _make(self, picture: ShareGroupImage) -> None:
        self.made.append(picture.group_id)
        self.groups.put(ShareGroup.restore(picture, GroupLimits(), now_ms=0))


def test_a_picture_tells_the_members_and_topics_that_the_group_of_it_has() -> None:
    # Given
    known = Known()
    known.groups.restore({A: A_PICTURE_WITH_TOPICS}, known._make, place=0)
    told = what_is_told_of(A, known.groups)
    was_made = bool(known.made)

    # When
    known.groups.find(A)

    # Then
    assert not was_made
    assert told == ({"alice", "bob"}, {TOPICS[0]: "orders", TOPICS[1]: "payments"}, {"orders", "refunds"})
    assert what_is_told_of(A, known.groups) == told
    assert what_is_told_of(B, known.groups) == (set(), {}, set())


def test_a_picture_is_there_at_once_and_becomes_a_group_when_it_is_asked_for() -> None:
    # Given
    known = Known()
    known.restore(A, B)
    before = list(known.groups.ids), list(known.made), known.groups.get(B)

    # When
    group = known.groups.find(B)

    # Then
    assert before == ([A, B], [], None)
    assert group is not None
    assert (group.group_id, group.group_epoch, known.made) == (B, 7, [B])
    assert known.groups.find(B) is group
    assert set(known.groups.ids) == {A, B}
    assert [picture.group_id for picture in known.groups.pictures()] == [A]


def test_who_its_members_are_is_known_without_making_a_group() -> None:
    # Given
    known = Known()
    known.groups.put(ShareGroup(C))

    # When
    known.restore(A)

    # Then
    assert [list(known.groups.member_ids(each)) for each in (A, B, C)] == [[], [], []]
    assert known.made == []


def test_what_nobody_asks_for_is_made_one_by_one() -> None:
    # Given
    known = Known()
    known.restore(A, B)
    known.restore(C, place=1)
    known.groups.find(A)

    # When
    works = list(iter(known.groups.make_one, 0))

    # Then
    assert works == [1, 1]
    assert sorted(known.made) == [A, B, C]
    assert sorted(group.group_id for group in known.groups.made()) == [A, B, C]


def test_a_group_that_cannot_be_made_stays_a_picture() -> None:
    """Its id is taken: whoever joined it anew would write over it."""
    # Given
    groups = KnownGroups()

    def fail(picture: ShareGroupImage) -> None:
        raise ValueError(picture.group_id)

    groups.restore({A: a_picture(A)}, fail, place=0)

    # When
    for attempt in (groups.make_one, lambda: groups.find(A)):
        with pytest.raises(ValueError, match="a"):
            attempt()

    # Then
    assert A in groups
    assert list(groups.ids) == [A]


def test_pictures_take_the_place_of_groups_with_their_ids() -> None:
    # Given
    known = Known()
    known.groups.put(before := ShareGroup(A))

    # When
    replaced = known.restore(A)

    # Then
    assert replaced == [before]
    assert list(known.groups.ids) == [A]
    assert known.groups.find(A) is not before


def test_all_of_a_place_go_at_once_made_or_not() -> None:
    # Given
    known = Known()
    known.restore(A, B)
    known.restore(C, place=1)
    group = known.groups.find(A)

    # When
    made, pictures = known.groups.take(0)

    # Then
    assert (made, list(pictures)) == ([group], [B])
    assert list(known.groups.ids) == [C]
    assert [known.groups.find(each) for each in (A, B)] == [None, None]


def test_what_was_removed_one_by_one_does_not_go_with_its_place() -> None:
    # Given
    known = Known()
    known.restore(A, B)
    known.groups.put(ShareGroup(C))
    for each in (A, C):
        known.groups.pop(each)

    # When
    made, pictures = known.groups.take(0)

    # Then
    assert (made, list(pictures)) == ([], [B])


def test_it_is_known_which_groups_changed() -> None:
    # Given
    known = Known()
    group = ShareGroup(A)
    known.groups.put(group)
    known.restore(B)
    new = list(known.groups.changed)
    known.groups.changed.clear()

    # When
    group.note_change()
    known.groups.find(B)
    changed = list(known.groups.changed)
    known.groups.changed.clear()
    known.groups.take(0)

    # Then
    assert (new, changed) == ([A], [A, B])
    assert sorted(known.groups.changed) == [A, B]


def test_there_are_none_to_begin_with() -> None:
    known = KnownGroups()

    assert not known.ids
    assert (len(known.ids), known.make_one(), known.pop(A)) == (0, 0, None)


def test_the_state_of_a_group_and_what_it_takes_to_make_it_are_told_without_making_it() -> None:
    # Given
    known = Known()
    known.restore(A, B)
    known.groups.find(B)

    # When
    told = [(known.groups.state_of(each), known.groups.work_of(each)) for each in (A, B, C)]

    # Then
    assert told == [(ShareGroupState.EMPTY, 1), (ShareGroupState.EMPTY, 0), (None, 0)]
    assert known.made == [B]
