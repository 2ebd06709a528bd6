"""Frozen pictures of share groups: a group in outline, its members one by one, or both in one piece.

To make a member's is as long work as it has topics, and a group may have hundreds of members with ten thousand. So
whoever serves others meanwhile takes the outline, and one member after the other with pauses in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kproxy.share.assignor import ASSIGNOR_NAME
from kproxy.share.heartbeat import AssignedTopic
from kproxy.share.identifiers import AssignmentEpoch, GroupEpoch, GroupId, MemberEpoch, MemberId
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupState


@dataclass(frozen=True, slots=True)
class ShareGroupOutline:
    """One group without its members."""

    group_id: GroupId
    state: ShareGroupState
    group_epoch: GroupEpoch
    assignment_epoch: AssignmentEpoch
    assignor_name: str
    member_count: int


@dataclass(frozen=True, slots=True)
class ShareGroupMemberView:
    """One member, as ShareGroupDescribe shows it.

    Its last heartbeat came at `heard_ms`, and it was told to send one every `heartbeat_interval_ms`; None: before a
    load. Its session ends at `session_deadline_ms` if none comes until then.
    """

    member_id: MemberId
    rack_id: str | None
    member_epoch: MemberEpoch
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    assignment: tuple[AssignedTopic, ...]
    heard_ms: int | None = None
    session_deadline_ms: int = 0
    heartbeat_interval_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ShareGroupView(ShareGroupOutline):
    """One group with its members, in the order in which they joined."""

    members: tuple[ShareGroupMemberView, ...]


def outline_of(group: ShareGroup) -> ShareGroupOutline:
    """Return the group as it is now. It costs the same for any group."""
    return ShareGroupOutline(
        group_id=group.group_id,
        state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=ASSIGNOR_NAME,
        member_count=len(group.members),
    )


def members_of(group: ShareGroup) -> Iterator[ShareGroupMemberView]:
    """Return each member that the group has now, in the order in which they joined, made when it is asked for.

    Names that several subscribe to alike are sorted, and held, once; so is what several were assigned alike.
    """
    in_order, named = cache(_in_order), cache(group.topics.named)
    return (
        ShareGroupMemberView(
            member_id=member.member_id,
            rack_id=member.rack_id,
            member_epoch=member.member_epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=in_order(member.subscribed_topic_names),
            assignment=named(member.assigned),
            heard_ms=member.heard_ms,
            session_deadline_ms=member.session_deadline_ms,
            heartbeat_interval_ms=member.heartbeat_interval_ms,
        )
        for member in tuple(group.members.values())
    )


def view_of(group: ShareGroup) -> ShareGroupView:
    """Return the whole group as it is now, made in one piece."""
    outline = outline_of(group)
    return ShareGroupView(
        group_id=outline.group_id,
        state=outline.state,
        group_epoch=outline.group_epoch,
        assignment_epoch=outline.assignment_epoch,
        assignor_name=outline.assignor_name,
        member_count=outline.member_count,
        members=tuple(members_of(group)),
    )


def _in_order(names: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
