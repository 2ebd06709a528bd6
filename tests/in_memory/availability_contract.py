"""What every `Availability` keeps to: run against the double, the scripted cluster and real Kafka."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import Availability
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId


class AvailabilityWorld(Protocol):
    """An availability, and a topic of three empty partitions that it watches."""

    availability: Availability
    topic_id: TopicId

    def in_ms(self, delay_ms: int) -> int:
        """Return the moment (Clock) in `delay_ms`."""
        ...

    async def append_one(self, partition: int) -> None:
        """Append a record."""
        ...

    async def append_one_in_transaction(self, partition: int) -> None:
        """Append a record in a transaction, which begins with it if none is open."""
        ...

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Commit or abort the transaction."""
        ...

    def pass_time(self, delay_ms: int) -> None:
        """Let `delay_ms` pass, if time does not pass by itself."""
        ...


def key(world: AvailabilityWorld, partition: int, group: str = "g") -> SharePartitionKey:
    """Return the share-partition of a group."""
    return SharePartitionKey(GroupId(group), world.topic_id, partition)


class Waits:
    """Waits in tasks, whose names are noted in `woken` as they end."""

    def __init__(self, world: AvailabilityWorld, group: asyncio.TaskGroup) -> None:
        self.woken: list[str] = []
        self._world = world
        self._group = group

    async def begin(
        self,
        name: str,
        interest: Mapping[SharePartitionKey, int | None],
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> asyncio.Task[None]:
        """Return a wait that is asleep, or over already."""
        task = self._group.create_task(self._wait(name, interest, isolation))
        await asyncio.sleep(0)
        return task

    async def _wait(
        self, name: str, interest: Mapping[SharePartitionKey, int | None], isolation: IsolationLevel
    ) -> None:
        await self._world.availability.wait(interest, self._world.in_ms(20_000), isolation)
        self.woken.append(name)


async def a_signal_wakes_those_who_wait_for_its_share_partition_and_nobody_else(
    world: AvailabilityWorld,
) -> None:
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        other_group = await waits.begin("other group", {key(world, 0, "h"): 0})
        other_partition = await waits.begin("other partition", {key(world, 1): 0})
        full_window = await waits.begin("full window", {key(world, 0): None})
        several = await waits.begin("several", {key(world, 1): 0, key(world, 0): 0})
        world.availability.signal(key(world, 0))
        await asyncio.wait({full_window, several})
        assert sorted(waits.woken) == ["full window", "several"]
        other_group.cancel()
        other_partition.cancel()


async def a_record_wakes_those_of_every_group_who_miss_it(world: AvailabilityWorld) -> None:
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        first = await waits.begin("g", {key(world, 0): 0})
        second = await waits.begin("h", {key(world, 0, "h"): 0, key(world, 1, "h"): 0})
        silent = await waits.begin("silent", {key(world, 2): 0})
        await world.append_one(0)
        await asyncio.wait({first, second})
        assert sorted(waits.woken) == ["g", "h"]
        silent.cancel()


async def a_record_wakes_nobody_who_misses_a_later_one_or_whose_window_is_full(
    world: AvailabilityWorld,
) -> None:
    await world.append_one(0)
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        missing_the_next = await waits.begin("the next", {key(world, 0): 1})
        full_window = await waits.begin("full window", {key(world, 0, "f"): None})
        elsewhere = await waits.begin("elsewhere", {key(world, 1, "h"): 0})
        await world.append_one(1)
        await asyncio.wait({elsewhere})
        assert waits.woken == ["elsewhere"]
        await world.append_one(0)
        await asyncio.wait({missing_the_next})
        assert waits.woken == ["elsewhere", "the next"]
        full_window.cancel()


async def a_record_that_is_there_already_ends_a_wait_soon(world: AvailabilityWorld) -> None:
    await world.append_one(0)
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        await asyncio.wait({await waits.begin("late", {key(world, 0): 0})})
        await asyncio.wait({await waits.begin("later still", {key(world, 0): 0})})
        assert waits.woken == ["late", "later still"]


async def a_wait_tells_for_what_it_ended(world: AvailabilityWorld) -> None:
    interest = {key(world, 0): 0, key(world, 1): 0, key(world, 2): None}
    assert set(await world.availability.wait(interest, world.in_ms(0))) == set()
    async with asyncio.TaskGroup() as group:
        by_signal = group.create_task(world.availability.wait(interest, world.in_ms(20_000)))
        await asyncio.sleep(0)
        world.availability.signal(key(world, 2))
        assert set(await by_signal) == {key(world, 2)}
        by_record = group.create_task(world.availability.wait(interest, world.in_ms(20_000)))
        await asyncio.sleep(0)
        await world.append_one(1)
        assert set(await by_record) == {key(world, 1)}
    assert set(await world.availability.wait(interest, world.in_ms(20_000))) == {key(world, 1)}


async def a_wait_ends_at_its_deadline(world: AvailabilityWorld) -> None:
    async with asyncio.TaskGroup() as group:
        deadline_ms = world.in_ms(30)
        wait = group.create_task(world.availability.wait({key(world, 0): 0}, deadline_ms))
        await asyncio.sleep(0)
        assert not wait.done()
        world.pass_time(30)
        await wait
        assert world.in_ms(0) >= deadline_ms


async def a_wait_for_nothing_at_all_ends_at_its_deadline(world: AvailabilityWorld) -> None:
    async with asyncio.TaskGroup() as group:
        wait = group.create_task(world.availability.wait({}, world.in_ms(10)))
        await asyncio.sleep(0)
        assert not wait.done()
        world.pass_time(10)
        await wait


async def a_deadline_that_has_passed_ends_a_wait_at_once(world: AvailabilityWorld) -> None:
    await world.availability.wait({key(world, 0): 0}, world.in_ms(0))


async def a_wait_that_is_cancelled_leaves_nothing_behind(world: AvailabilityWorld) -> None:
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        cancelled = await waits.begin("cancelled", {key(world, 0): 0})
        cancelled.cancel()
        other = await waits.begin("other", {key(world, 0): 0})
        world.availability.signal(key(world, 0))
        await asyncio.wait({other})
        assert waits.woken == ["other"]


async def the_end_of_a_transaction_wakes_those_who_read_committed_records(world: AvailabilityWorld) -> None:
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        committed = await waits.begin("committed", {key(world, 0): 0}, IsolationLevel.READ_COMMITTED)
        uncommitted = await waits.begin("uncommitted", {key(world, 0, "h"): 0})
        await world.append_one_in_transaction(0)
        await asyncio.wait({uncommitted})
        assert waits.woken == ["uncommitted"]
        await world.end_transaction(is_commit=False)
        await asyncio.wait({committed})
        assert waits.woken == ["uncommitted", "committed"]


async def records_behind_an_open_transaction_wake_nobody_who_reads_committed_ones(
    world: AvailabilityWorld,
) -> None:
    await world.append_one_in_transaction(0)
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        committed = await waits.begin("committed", {key(world, 0): 0}, IsolationLevel.READ_COMMITTED)
        elsewhere = await waits.begin("elsewhere", {key(world, 1, "h"): 0})
        await world.append_one(0)
        await world.append_one(1)
        await asyncio.wait({elsewhere})
        assert waits.woken == ["elsewhere"]
        await world.end_transaction(is_commit=True)
        await asyncio.wait({committed})


async def a_signal_wakes_those_who_read_committed_records(world: AvailabilityWorld) -> None:
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        committed = await waits.begin("committed", {key(world, 0): 0}, IsolationLevel.READ_COMMITTED)
        world.availability.signal(key(world, 0))
        await asyncio.wait({committed})


AVAILABILITY_CONTRACT: Final[Sequence[Callable[[AvailabilityWorld], Awaitable[None]]]] = (
    a_signal_wakes_those_who_wait_for_its_share_partition_and_nobody_else,
    a_record_wakes_those_of_every_group_who_miss_it,
    a_record_wakes_nobody_who_misses_a_later_one_or_whose_window_is_full,
    a_record_that_is_there_already_ends_a_wait_soon,
    a_wait_tells_for_what_it_ended,
    a_wait_ends_at_its_deadline,
    a_wait_for_nothing_at_all_ends_at_its_deadline,
    a_deadline_that_has_passed_ends_a_wait_at_once,
    a_wait_that_is_cancelled_leaves_nothing_behind,
    the_end_of_a_transaction_wakes_those_who_read_committed_records,
    records_behind_an_open_transaction_wake_nobody_who_reads_committed_ones,
    a_signal_wakes_those_who_read_committed_records,
)
