"""The records of a group go into several appends where they are many, or large; any may be the last that lands.

Here each record has an append of its own. Behind some of them the process dies, or all that is left is refused. Whoever
tries again comes to the same end as without that.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from kproxy.errors import ApiError, StateNotWritten
from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog import group_append
from kproxy.statelog.group_queue import GroupOperation
from tests.in_memory.breakable_group_log import BreakableGroupLog
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld
from tests.worlds.share_offset_requests import alter, delete
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("g")
MOST_APPENDS = 8
"""More than any operation here makes."""


class Crash(BaseException):
    """The process is gone."""


class CutGroupLog(BreakableGroupLog):
    """Takes `appends_left` more; then the process dies, or what waits is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.appends_left: int | None = None
        self.refusal: ApiError | None = None

    async def _write(
        self, operation: GroupOperation, failure: ApiError | None, held: asyncio.Event | None
    ) -> None:
        """Queue it in the turn in which it is asked for: a later picture of the group takes the place of it then."""
        assert failure is None
        ticket = self.store.submit(operation)
        if held is not None:
            await held.wait()
        while not ticket.is_done:
            self._write_next()
        if ticket.refusal is not None:
            raise ticket.refusal

    def _write_next(self) -> None:
        if self.appends_left is None:
            super()._write_next()
        elif self.appends_left:
            self.appends_left -= 1
            super()._write_next()
        elif self.refusal is None:
            raise Crash
        else:
            self.store.next_append(0, max_bytes=1 << 20, claim_epoch=self.store.claim_epoch)
            while self.store.refuse(self.refusal):
                pass


@dataclass(frozen=True)
class End:
    """What is durable of the group, and of its share-partitions."""

    image: ShareGroupImage | None
    states: frozenset[SharePartitionKey]


class CutWorld(ShareGroupWorld):
    """A world of two topics whose group log is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.group_log = self.log_of_groups = CutGroupLog()
        for name, topic_id in (("orders", ORDERS), ("payments", PAYMENTS)):
            self.metadata.create_topic(name, topic_id, partition_count=2)
        self.groups = self.new_process()

    async def interrupt(self, operation: Awaitable[object], *, behind: int, refusal: ApiError | None) -> None:
        """Let so many appends land of `operation`; then the process is started anew, or goes on."""
        self.log_of_groups.appends_left, self.log_of_groups.refusal = behind, refusal
        try:
            await operation
        except* Crash:
            self.restart()
        except* ApiError:
            pass
        self.log_of_groups.appends_left = None

    async def let_time_pass(self) -> None:
        """Tend what was interrupted, for longer than a topic must have been missing."""
        for _ in range(3):
            await self.groups.tend_topics()
            self.clock.advance(CONFIRMATION_MS)

    def end(self) -> End:
        image = self.group_log.replayed().durable_images().get(GROUP)
        return End(image, frozenset(self.state_log.memory.fold.states))


Operation: TypeAlias = Callable[[CutWorld], Awaitable[object]]


async def join(world: CutWorld) -> None:
    await world.member().heartbeat(0, ["orders", "payments"])


async def join_as_second(world: CutWorld) -> None:
    await world.member("bob").heartbeat(0, ["orders"])


async def leave(world: CutWorld) -> None:
    await world.member().heartbeat(-1)


async def delete_group(world: CutWorld) -> None:
    await world.groups._group_deletions.delete([GROUP])


async def leave_and_delete_group(world: CutWorld) -> None:
    """That the last member left is not durable when the group is given up."""
    world.group_log.hold_writes = written = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(leave(world))
        await until_all_wait()
        tasks.create_task(delete_group(world))
        await until_all_wait()
        world.group_log.hold_writes = None
        written.set()


async def delete_offsets(world: CutWorld) -> None:
    await delete(world, "orders")


async def alter_offsets(world: CutWorld) -> None:
    await alter(world, {"orders": {0: 7, 1: 5}})


async def lose_topic(world: CutWorld) -> None:
    if world.metadata.leader_of(ORDERS, 0) is not None:
        world.metadata.delete_topic(ORDERS)
    await world.let_time_pass()


@pytest.fixture(autouse=True)
def _one_record_an_append(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_append, "MOST_RECORDS", 1)


@pytest.mark.parametrize("behind", range(MOST_APPENDS))
@pytest.mark.parametrize("refusal", [None, StateNotWritten("NOT_ENOUGH_REPLICAS")], ids=["killed", "refused"])
@pytest.mark.parametrize(
    ("before", "operation"),
    [
        pytest.param((), join, id="join"),
        pytest.param((join,), join_as_second, id="second_join"),
        pytest.param((join,), leave, id="leave"),
        pytest.param((join, leave), delete_group, id="delete_group"),
        pytest.param((join,), leave_and_delete_group, id="leave_and_delete_group"),
        pytest.param((join, leave), delete_offsets, id="delete_offsets"),
        pytest.param((join, leave), alter_offsets, id="alter_offsets"),
        pytest.param((), alter_offsets, id="alter_offsets_of_no_group"),
        pytest.param((join, leave), lose_topic, id="lose_topic"),
        pytest.param((join,), lose_topic, id="lose_topic_with_a_member"),
    ],
)
async def test_what_is_interrupted_between_two_appends_and_tried_again_ends_as_if_it_was_not(
    before: tuple[Operation, ...], operation: Operation, refusal: ApiError | None, behind: int
) -> None:
    # Given
    world, undisturbed = CutWorld(), CutWorld()
    for each in (*before, operation):
        await each(undisturbed)
    await undisturbed.let_time_pass()
    for each in before:
        await each(world)

    # When
    await world.interrupt(operation(world), behind=behind, refusal=refusal)
    await world.let_time_pass()
    tended = world.end().image
    await operation(world)
    await world.let_time_pass()

    # Then
    assert tended is None or not tended.is_being_deleted
    assert _without_epochs(world.end()) == _without_epochs(undisturbed.end())
    group = world.groups.coordinator.find(GROUP)
    assert (None if group is None else group.image()) == world.end().image


def _without_epochs(end: End) -> object:
    """Who tries again may come to higher ones."""
    image = end.image
    if image is None:
        return None, end.states
    return (
        image.members.keys(),
        image.initialized,
        image.initializing,
        image.deleting,
        image.is_being_deleted,
        end.states,
    )
