"""Pictures of groups: what members have alike is made once, and a member's picture when it is asked for."""

from typing import NoReturn

import pytest

from kproxy.share.group_topics import GroupTopics
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.views.group_views import members_of, outline_of, view_of
from tests.worlds.share_builders import ALICE, BOB

CAROL = MemberId("carol")


def a_group() -> ShareGroup:
    """Two members name the same topics, each in a set of its own, and a third one names another."""
    group = ShareGroup(GroupId("g"))
    for member_id, names in ((ALICE, ["sent", "paid"]), (BOB, ["paid", "sent"]), (CAROL, ["sent"])):
        group.members[member_id] = ShareGroupMember(member_id, subscribed_topic_names=frozenset(names))
    return group


def test_members_that_name_the_same_topics_have_one_list_of_them_in_their_pictures() -> None:
    # When
    alice, bob, carol = members_of(a_group())

    # Then
    assert alice.subscribed_topic_names == ("paid", "sent")
    assert bob.subscribed_topic_names is alice.subscribed_topic_names
    assert carol.subscribed_topic_names == ("sent",)


def not_to_be_made(*_: object) -> NoReturn:
    raise AssertionError("an assignment is made")


def test_no_assignment_is_made_of_a_group_in_outline_nor_of_members_that_nobody_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    group = a_group()
    group.members[ALICE].assigned = frozenset()
    monkeypatch.setattr(GroupTopics, "named", not_to_be_made)

    # When
    outline, _ = outline_of(group), members_of(group)

    # Then
    assert (outline.group_id, outline.member_count) == ("g", 3)


def test_who_joins_or_leaves_in_between_is_told_of_as_when_the_description_began() -> None:
    # Given
    group = a_group()
    members = members_of(group)
    first = next(members)

    # When
    del group.members[BOB]
    group.members[MemberId("dave")] = ShareGroupMember(MemberId("dave"))

    # Then
    assert [member.member_id for member in (first, *members)] == [ALICE, BOB, CAROL]


def test_a_view_is_the_outline_with_all_members() -> None:
    # Given
    group = a_group()

    # When
    view = view_of(group)

    # Then
    assert (view.group_id, view.state, view.member_count) == ("g", group.state, 3)
    assert view.members == tuple(members_of(group))
