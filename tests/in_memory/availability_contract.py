"""What every `Availability` keeps to: run against the double, the scripted cluster and real Kafka."""

import asyncio
from collections.abc import Awaitable, Callable, ItemsView, Iterable, Mapping, Sequence
from typing import Final, Protocol

from kproxy.handlers.interest import MOST_ANEW, Interest
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
        deadline_ms = world.in_ms(300)
        wait = group.create_task(world.availability.wait({key(world, 0): 0}, deadline_ms))
        await asyncio.sleep(0)
        assert not wait.done()
        world.pass_time(300)
        await wait
        assert world.in_ms(0) >= deadline_ms


async def a_wait_for_nothing_at_all_ends_at_its_deadline(world: AvailabilityWorld) -> None:
    async with asyncio.TaskGroup() as group:
        wait = group.create_task(world.availability.wait({}, world.in_ms(300)))
        await asyncio.sleep(0)
        assert not wait.done()
        world.pass_time(300)
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


class CountedInterest(Interest):
    """Remembers which share-partitions were looked up in it."""

    def __init__(self, keys: Iterable[SharePartitionKey]) -> None:
        super().__init__(keys)
        self.looked_up: set[SharePartitionKey] = set()

    def __getitem__(self, key: SharePartitionKey) -> int | None:
        self.looked_up.add(key)
        return super().__getitem__(key)

    def get(self, key: SharePartitionKey, default: int | None = None) -> int | None:  # type: ignore[override]
        self.looked_up.add(key)
        return super().get(key, default)

    def items(self) -> ItemsView[SharePartitionKey, int | None]:  # type: ignore[override]  # a view of the same
        self.looked_up.update(self)
        return super().items()


def wide(
    world: AvailabilityWorld, missing: Mapping[SharePartitionKey, int | None], group: str = "wide"
) -> CountedInterest:
    """Return a wide interest: in `missing`, and in very many share-partitions of which only signals are waited for."""
    others = (key(world, 100 + number, group) for number in range(MOST_ANEW + 1))
    interest = CountedInterest((*missing, *others))
    for each, offset in missing.items():
        interest[each] = offset
    return interest


async def woken(
    world: AvailabilityWorld, interest: Interest, cause: Callable[[], Awaitable[None]]
) -> set[SharePartitionKey]:
    """Return what a wait tells that is woken by `cause`."""
    async with asyncio.TaskGroup() as group:
        wait = group.create_task(world.availability.wait(interest, world.in_ms(20_000)))
        await asyncio.sleep(0)
        assert not wait.done()
        await cause()
        return set(await wait)


def signalling(world: AvailabilityWorld, *keys: SharePartitionKey) -> Callable[[], Awaitable[None]]:
    """Return what signals `keys`."""

    async def signal() -> None:
        for each in keys:
            world.availability.signal(each)

    return signal


async def of_a_wide_interest_a_later_wait_looks_only_at_what_changed(world: AvailabilityWorld) -> None:
    interest = wide(world, {key(world, 0): 0, key(world, 1): 0})
    assert await woken(world, interest, lambda: world.append_one(0)) == {key(world, 0)}
    interest[key(world, 0)] = 1
    interest.looked_up.clear()
    assert await woken(world, interest, lambda: world.append_one(1)) == {key(world, 1)}
    assert interest.looked_up <= {key(world, 0), key(world, 1)}
    interest[key(world, 1)] = 1
    assert await woken(world, interest, lambda: world.append_one(0)) == {key(world, 0)}
    interest.end()


async def a_signal_between_two_waits_for_a_wide_interest_ends_the_next_one(world: AvailabilityWorld) -> None:
    signalled = [key(world, number) for number in range(3)]
    interest = wide(world, dict.fromkeys(signalled))
    assert await woken(world, interest, signalling(world, *signalled[:2])) == set(signalled[:2])
    await signalling(world, *signalled[1:])()
    assert set(await world.availability.wait(interest, world.in_ms(20_000))) == set(signalled[1:])
    await signalling(world, *signalled[:2])()
    interest.look_at(signalled[:1])
    assert set(await world.availability.wait(interest, world.in_ms(20_000))) == {signalled[1]}
    assert await woken(world, interest, signalling(world, signalled[2])) == {signalled[2]}
    interest.end()


async def records_between_two_waits_for_a_wide_interest_end_the_next_one_unless_they_were_read(
    world: AvailabilityWorld,
) -> None:
    interest = wide(world, {key(world, 0): 0, key(world, 1): 0, key(world, 2): None})
    await woken(world, interest, signalling(world, key(world, 2)))
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        others = [await waits.begin(str(number), {key(world, number): 0}) for number in (0, 1)]
        for number in (0, 1):
            await world.append_one(number)
        await asyncio.wait(others)
    interest[key(world, 0)] = 1
    assert set(await world.availability.wait(interest, world.in_ms(20_000))) == {key(world, 1)}
    interest[key(world, 1)] = 1
    assert await woken(world, interest, lambda: world.append_one(0)) == {key(world, 0)}
    interest.end()


async def what_a_wide_interest_misses_no_more_ends_no_wait(world: AvailabilityWorld) -> None:
    interest = wide(world, {key(world, 0): 0, key(world, 1): 0, key(world, 2): None})
    await woken(world, interest, signalling(world, key(world, 2)))
    interest[key(world, 0)] = None
    del interest[key(world, 2)]

    async def all_three() -> None:
        await signalling(world, key(world, 2))()
        await world.append_one(0)
        await world.append_one(1)

    assert await woken(world, interest, all_three) == {key(world, 1)}
    interest.end()


async def a_wide_interest_that_ended_is_registered_nowhere(world: AvailabilityWorld) -> None:
    interest = wide(world, {key(world, 0): 0})
    async with asyncio.TaskGroup() as group:
        cancelled = group.create_task(world.availability.wait(interest, world.in_ms(20_000)))
        await asyncio.sleep(0)
        assert interest.registration is not None
        cancelled.cancel()
    interest.end()
    await signalling(world, *interest)()
    async with asyncio.TaskGroup() as group:
        waits = Waits(world, group)
        other = await waits.begin("other", {key(world, 0, "h"): 0})
        await world.append_one(0)
        await asyncio.wait({other})
    assert not interest.news | interest.changed


async def a_wide_interest_may_begin_to_wait_for_committed_records(world: AvailabilityWorld) -> None:
    interest = wide(world, {key(world, 0): 0, key(world, 1): None})
    await woken(world, interest, signalling(world, key(world, 1)))
    await signalling(world, key(world, 1))()
    committed = IsolationLevel.READ_COMMITTED
    assert set(await world.availability.wait(interest, world.in_ms(20_000), committed)) == {key(world, 1)}
    async with asyncio.TaskGroup() as group:
        wait = group.create_task(world.availability.wait(interest, world.in_ms(20_000), committed))
        waits = Waits(world, group)
        uncommitted = await waits.begin("uncommitted", {key(world, 0, "h"): 0})
        await world.append_one_in_transaction(0)
        await asyncio.wait({uncommitted})
        assert not wait.done()
        await world.end_transaction(is_commit=True)
        assert set(await wait) == {key(world, 0)}
    interest.end()
    await signalling(world, *interest)()
    assert interest.news == set()


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
    of_a_wide_interest_a_later_wait_looks_only_at_what_changed,
    a_signal_between_two_waits_for_a_wide_interest_ends_the_next_one,
    records_between_two_waits_for_a_wide_interest_end_the_next_one_unless_they_were_read,
    what_a_wide_interest_misses_no_more_ends_no_wait,
    a_wide_interest_that_ended_is_registered_nowhere,
    a_wide_interest_may_begin_to_wait_for_committed_records,
)
