"""One member of a share group."""

from dataclasses import dataclass

from kproxy.errors import FencedMemberEpoch
from kproxy.share.heartbeat import JOIN_EPOCH, LEAVE_EPOCH, Heartbeat
from kproxy.share.identifiers import (
    GroupId,
    MemberEpoch,
    MemberId,
    TopicIdPartition,
)
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_image import MemberImage


@dataclass(slots=True)
class ShareGroupMember:
    """One member, as its heartbeats describe it, and what it was told last."""

    member_id: MemberId
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    member_epoch: MemberEpoch = JOIN_EPOCH
    previous_member_epoch: MemberEpoch = LEAVE_EPOCH
    assigned: frozenset[TopicIdPartition] = frozenset()
    session_deadline_ms: int = 0
    session_check_ms: int | None = None
    heard_ms: int | None = None
    """When its last heartbeat came; None if none came since it was put back from what is durable."""
    heartbeat_interval_ms: int | None = None
    """How often it was told to send one, by its last heartbeat; None if none came since then."""
    is_present: bool = False
    """Whether it can be counted on to consume what it was told: it was heard, and its connection did not close."""
    relied_on: frozenset[TopicIdPartition] = frozenset()
    """Which partitions of `assigned` it is counted on for: not those that it has to be told again."""
    is_waiting: bool = False
    """Whether a heartbeat of it is held, so that it can be told something at once."""
    awaited_round: int | None = None
    """The number of the round that its join, or its new subscription, waits for."""

    def hear(self, limits: GroupLimits, now_ms: int) -> None:
        """Take note that a heartbeat came: the session begins anew."""
        self.session_deadline_ms, self.heard_ms = now_ms + limits.session_timeout_ms, now_ms
        self.heartbeat_interval_ms = limits.heartbeat_interval_ms

    def require_epoch(self, heartbeat: Heartbeat) -> None:
        """Raise FencedMemberEpoch unless a heartbeat joins, or is of the epoch that the member has, or had before."""
        if heartbeat.member_epoch not in (JOIN_EPOCH, self.member_epoch, self.previous_member_epoch):
            raise FencedMemberEpoch(
                f"member epoch {heartbeat.member_epoch} is not {self.member_epoch} in {heartbeat.group_id!r}"
            )

    def note(self, heartbeat: Heartbeat, names: frozenset[str]) -> None:
        """Write down what a heartbeat says of the member, which subscribes to `names` now."""
        self.client_id, self.client_host = heartbeat.client_id, heartbeat.client_host
        if heartbeat.rack_id is not None:
            self.rack_id = heartbeat.rack_id
        self.subscribed_topic_names = names

    def reach(self, member_epoch: MemberEpoch) -> None:
        """Let the member be told `member_epoch`."""
        if self.member_epoch != member_epoch:
            self.previous_member_epoch, self.member_epoch = self.member_epoch, member_epoch

    def continue_session_of(self, known: "ShareGroupMember") -> None:
        """Let the session end when that of `known`, the same member, would have, and be looked at then."""
        self.session_deadline_ms, self.session_check_ms = known.session_deadline_ms, known.session_check_ms
        self.heard_ms, self.heartbeat_interval_ms = known.heard_ms, known.heartbeat_interval_ms

    def image(self) -> MemberImage:
        """Return what must outlive the process."""
        return MemberImage(
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=self.subscribed_topic_names,
            member_epoch=self.member_epoch,
            previous_member_epoch=self.previous_member_epoch,
            assigned=self.assigned,
        )

    @classmethod
    def restore(cls, member_id: MemberId, image: MemberImage, session_deadline_ms: int) -> "ShareGroupMember":
        """Rebuild a member from its image; its session begins anew."""
        return cls(
            member_id=member_id,
            rack_id=image.rack_id,
            client_id=image.client_id,
            client_host=image.client_host,
            subscribed_topic_names=image.subscribed_topic_names,
            member_epoch=image.member_epoch,
            previous_member_epoch=image.previous_member_epoch,
            assigned=image.assigned,
            session_deadline_ms=session_deadline_ms,
        )


@dataclass(frozen=True, slots=True, order=True)
class ExpiredMember:
    """A member whose session ran out, and the group that it was removed from."""

    group_id: GroupId
    member_id: MemberId
