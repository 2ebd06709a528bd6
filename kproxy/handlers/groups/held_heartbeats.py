"""Heartbeats that are held until there is something to tell their member, and who is to be told.

What is held is answered at once when its member's assignment changes, when its client has sent something behind it,
when its group was forgotten, and when the process is told to stop. When its connection closes nobody hears the answer
any more, and the group does not count on its members until they are heard again, on another connection.
"""

from collections.abc import Callable
from typing import TypeAlias

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.callers import Waits
from kproxy.handlers.live.pauses import Pace, work_on
from kproxy.handlers.ports import Alarm, Clock, GroupLog
from kproxy.handlers.request_context import RequestContext
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, HeartbeatAnswer
from kproxy.share.identifiers import GroupId, MemberEpoch, MemberId
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup

MemberKey: TypeAlias = tuple[GroupId, MemberId]


class HeldHeartbeats:
    """Asks the coordinator again and again what to tell a member, and remembers on which connection it was heard.

    Args:
        coordinator: the groups.
        limits_of: what each of them allows its members at this moment.
        waits: where heartbeats wait.
        group_log: says whether a group may be answered.
        alarm: rings when the coordinator has something to do.
        clock: the time.
    """

    __slots__ = (
        "_alarm",
        "_clock",
        "_connections",
        "_coordinator",
        "_group_log",
        "_limits_of",
        "_members",
        "_waits",
        "is_ending",
    )

    def __init__(
        self,
        coordinator: GroupCoordinator,
        limits_of: Callable[[GroupId], GroupLimits],
        *,
        waits: Waits,
        group_log: GroupLog,
        alarm: Alarm,
        clock: Clock,
    ) -> None:
        self.is_ending = False
        """Nothing is held any more: whoever asks is answered with what there is."""
        self._coordinator = coordinator
        self._limits_of = limits_of
        self._waits = waits
        self._group_log = group_log
        self._alarm = alarm
        self._clock = clock
        self._connections: dict[MemberKey, int] = {}
        self._members: dict[int, set[MemberKey]] = {}

    async def answer(
        self, heartbeat: Heartbeat, context: RequestContext, *, since_ms: int
    ) -> HeartbeatAnswer:
        """Return what an admitted heartbeat, which came at `since_ms`, is answered; maybe after a while.

        Raises:
            UnknownMemberId: the member left or expired meanwhile.
            CoordinatorNotAvailable: the group was restored from its log meanwhile.
            CoordinatorLoadInProgress, NotCoordinator: it is being restored, or is somebody else's.
        """
        self._hear(heartbeat, context)
        group = self._coordinator.find(heartbeat.group_id)
        while not context.caller.is_gone:
            now_ms = self._clock.now_ms()
            is_hurried = self.is_ending or context.caller.has_more or not context.answer_budget.may_wait
            limits = self._limits_of(heartbeat.group_id)
            said = self._coordinator.answer(
                heartbeat, limits=limits, now_ms=now_ms, since_ms=since_ms, is_hurried=is_hurried
            )
            self.follow()
            if isinstance(said, HeartbeatAnswer):
                return said
            await self._waits.wait(context.connection_id, said.until_ms)
            self._group_log.require_ready(heartbeat.group_id)
            if self._coordinator.find(heartbeat.group_id) is not group:
                raise CoordinatorNotAvailable(
                    f"group {heartbeat.group_id!r} was restored from its log meanwhile"
                )
        return _unheard(heartbeat)

    def follow(self) -> None:
        """Answer those whom the coordinator calls, and see to it that it is asked again in time.

        To be called whenever something happened to a group.
        """
        for member in self._coordinator.take_called():
            self._call(member)
        deadline_ms = self._coordinator.next_deadline_ms()
        if deadline_ms is not None:
            self._alarm.ring_by(deadline_ms)

    def forget(self, group_id: GroupId, member_id: MemberId) -> None:
        """Forget a member that left or expired; a heartbeat of it that is held still learns of that."""
        connection_id = self._connections.pop((group_id, member_id), None)
        if connection_id is not None:
            self._members[connection_id].discard((group_id, member_id))

    def more_arrived(self, connection_id: int) -> None:
        """Answer what is held on a connection: its client has sent something behind it."""
        self._waits.call(connection_id)

    def connection_closed(self, connection_id: int, pace: Pace) -> bool:
        """Count no more on the members that were heard on a connection that is gone; tell whether some are left.

        To be called again in that case, when others had a turn: before that they are counted on, and may be heard
        elsewhere.
        """
        members = self._members.get(connection_id, set())
        is_pause_due = False
        while members and not is_pause_due:
            is_pause_due = pace.is_pause_due(self._lose(members.pop()))
        if not members:
            self._members.pop(connection_id, None)
        self._waits.call(connection_id)
        self.follow()
        return bool(members)

    def call_group(self, group: ShareGroup) -> None:
        """Answer every heartbeat of a group that is another one than it was, or gone."""
        for member_id in group.members:
            self._call((group.group_id, member_id))

    def end(self) -> None:
        """Answer every heartbeat, and hold none any more."""
        self.is_ending = True
        for member in tuple(self._connections):
            self._call(member)

    def _hear(self, heartbeat: Heartbeat, context: RequestContext) -> None:
        """Note where the member was heard.

        If that connection is gone already, it cannot be counted on, unless it was heard on another one meanwhile.
        """
        group = self._coordinator.find(heartbeat.group_id)
        # The group's own text: one of up to 32 kB comes with each heartbeat.
        member = (heartbeat.group_id if group is None else group.group_id, heartbeat.member_id)
        if (
            context.caller.is_gone
            and self._connections.get(member, context.connection_id) != context.connection_id
        ):
            return
        if self._connections.get(member) != context.connection_id:
            self.forget(*member)
            self._connections[member] = context.connection_id
            self._members.setdefault(context.connection_id, set()).add(member)
        if context.caller.is_gone:
            self._lose(member)
            if not self._members[context.connection_id]:
                del self._members[context.connection_id]
            self._waits.call(context.connection_id)
            self.follow()

    def _lose(self, member: MemberKey) -> int:
        """Count on a member no more, which was heard on a connection that is gone; return how much work that was."""
        self._members[self._connections.pop(member)].discard(member)
        self._coordinator.lose(*member, now_ms=self._clock.now_ms())
        group_id, member_id = member
        group = self._coordinator.find(group_id)
        known = None if group is None else group.members.get(member_id)
        return work_on(0 if known is None else len(known.assigned))

    def _call(self, member: MemberKey) -> None:
        connection_id = self._connections.get(member)
        if connection_id is not None:
            self._waits.call(connection_id)


def _unheard(heartbeat: Heartbeat) -> HeartbeatAnswer:
    """Return an answer that changes nothing: its connection is gone."""
    return HeartbeatAnswer(heartbeat.member_id, MemberEpoch(heartbeat.member_epoch), 0, assignment=None)
