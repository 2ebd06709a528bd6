"""Members whose heartbeats are held, in a world whose time passes when the test says so."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from kproxy.error_codes import ErrorCode
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.net.tasks import TaskKeeper
from kproxy.share.limits import GroupLimits
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld
from tests.worlds.waiting import until_all_wait

DELAY_MS = 50
LIMITS = ShareGroupLimits(group=GroupLimits(assignment_delay_ms=DELAY_MS, max_heartbeat_wait_ms=15_000))


TASKS = TaskKeeper()


class HeldWorld(ShareGroupWorld):
    """Time passes when the test says so, and the alarm rings when it was asked to."""

    def __init__(self, partition_count: int = 4, *, limits: ShareGroupLimits = LIMITS) -> None:
        super().__init__(limits=limits, passes_time=False)
        self.metadata.create_topic("orders", ORDERS, partition_count=partition_count)
        self.members: dict[str, HeldMember] = {}

    def join(self, *names: str) -> None:
        for name in names:
            self.members[name] = HeldMember(self.member(name))

    async def kill_and_restart(self) -> None:
        """Restart the process; every connection closes, and no member has come back yet."""
        for member in self.members.values():
            await member.stop()
        self.restart()

    async def pass_time(self, by_ms: int) -> None:
        """Let time pass, millisecond by millisecond as far as anybody could notice."""
        end_ms = self.clock.now_ms() + by_ms
        while True:
            await until_all_wait()
            deadline_ms = self.groups.next_deadline_ms()
            step_ms = (
                end_ms if deadline_ms is None else min(end_ms, max(deadline_ms, self.clock.now_ms() + 1))
            )
            self.clock.advance(step_ms - self.clock.now_ms())
            await self.expire()
            await until_all_wait()
            if self.clock.now_ms() >= end_ms:
                return

    def told(self) -> Mapping[str, list[int]]:
        """What each member was told last, of those that are still there."""
        return {name: member.partitions for name, member in self.members.items() if not member.is_gone}


class HeldMember:
    """A client that sends its next heartbeat as soon as it was told an assignment, else after the interval."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.epoch = 0
        self.partitions: list[int] = []
        self.answers: list[ShareGroupHeartbeatResponse] = []
        self.is_gone = False
        self._timer: asyncio.Future[None]
        self.task = TASKS.spawn(self._live(0, ["orders"]), name="member")

    async def _live(self, epoch: int, topics: list[str] | None) -> None:
        answer = await self._say(epoch, topics)
        while answer.error_code == ErrorCode.NONE:
            if answer.assignment is None:
                await self._timer
            answer = await self._say(answer.member_epoch, None)

    async def _say(self, epoch: int, topics: list[str] | None) -> ShareGroupHeartbeatResponse:
        clock, timer = self.member.world.clock, asyncio.get_running_loop().create_future()
        self._timer = timer
        clock.call_at(clock.now_ms() + 5_000, lambda: None if timer.done() else timer.set_result(None))
        answer = await self.member.heartbeat(epoch, topics)
        self.answers.append(answer)
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.partitions = sorted(
                number for topic in answer.assignment.topic_partitions for number in topic.partitions
            )
        return answer

    async def stop(self) -> None:
        """Say nothing any more."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    async def die(self) -> None:
        """Be killed: the connection closes."""
        self.is_gone = True
        await self.stop()
        await self.member.disconnect()

    def come_back(self) -> None:
        """Go on on another connection."""
        self.is_gone = False
        self.answers.clear()
        self.task = TASKS.spawn(self._live(self.epoch, None), name="member")

    async def leave(self) -> None:
        """Send the last heartbeat on another connection, so that the held one is still there."""
        self.is_gone = True
        self.member.connection_id = self.member.world.new_connection()
        await self.member.heartbeat(-1)
