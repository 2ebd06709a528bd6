"""What happens to a share-partition while it is loaded: a load that was overtaken never becomes live."""

import asyncio
from collections.abc import Awaitable

from kproxy.errors import CoordinatorLoadInProgress, ShareStateStillLoading
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, StateEpoch, TopicId
from tests.in_memory.in_memory_state_log import InMemoryStateLog
from tests.in_memory.scripted_partition_reader import ScriptedPartitionReader
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, loaded
from tests.worlds.waiting import until_all_wait


class AskedReader(ScriptedPartitionReader):
    """Remembers which timestamps it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.timestamps: list[int] = []

    async def find_offset(self, topic_id: TopicId, partition: int, timestamp: int) -> int:
        self.timestamps.append(timestamp)
        return await super().find_offset(topic_id, partition, timestamp)


class SlowReader(ScriptedPartitionReader):
    """Names no offset before `answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = asyncio.Event()

    async def find_offset(self, topic_id: TopicId, partition: int, timestamp: int) -> int:
        await self.answer.wait()
        return await super().find_offset(topic_id, partition, timestamp)


async def raised_by(wanted: Awaitable[object]) -> Exception | None:
    """Wait for `wanted`, and return what it raises."""
    try:
        await wanted
    except ShareStateStillLoading as raised:
        return raised
    return None


async def test_the_slot_of_a_group_that_is_lost_during_a_load_does_not_make_it_begin_elsewhere() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    world.reader = reader = AskedReader()
    directory = world.new_process().directory
    key = await world.initialize(start_offset=-1)
    world.state_log.hold_loads = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        loading = tasks.create_task(raised_by(loaded(directory, key)))
        await until_all_wait()
        world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")
        world.state_log.hold_loads.set()

    # Then
    assert isinstance(loading.result(), ShareStateStillLoading)
    assert reader.timestamps == []


async def test_a_share_partition_is_not_live_when_its_state_was_changed_while_it_was_loaded() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.member().open()
    directory = world.groups.directory
    key = await world.initialize(start_offset=7)
    world.state_log.hold_loads = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        loading = tasks.create_task(raised_by(loaded(directory, key)))
        await until_all_wait()
        directory.discard(key)
        world.state_log.hold_loads.set()

    # Then
    assert isinstance(loading.result(), ShareStateStillLoading)
    assert directory.find(key) is None
    assert (await loaded(directory, key)).start_offset == 7


async def test_a_start_offset_that_was_chosen_for_a_state_that_is_lost_is_not_written_over_the_next_one() -> (
    None
):
    """What `LostStates` begins anew at 0 would begin behind every record otherwise."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    world.reader = reader = SlowReader()
    groups = world.new_process()
    key = await world.initialize(start_offset=-1)
    world.produce(7)

    # When
    async with asyncio.TaskGroup() as tasks:
        loading = tasks.create_task(raised_by(loaded(groups.directory, key)))
        await until_all_wait()
        world.state_log.memory = InMemoryStateLog()
        groups.discard_live([key.group_id])
        await world.state_log.initialize([PartitionInitialization(key, StateEpoch(0), 0)])
        reader.answer.set()

    # Then
    state = world.state_log.state(key)
    assert isinstance(loading.result(), ShareStateStillLoading)
    assert state is not None
    assert state.start_offset == 0


async def test_a_load_that_is_under_way_brings_no_state_of_a_deleted_group_back() -> None:
    """It would choose again where to begin, for the session before it left without a record."""
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    await alice.heartbeat(-1)
    world.group_log.hold_writes = written = asyncio.Event()
    world.group_log.hold_removals[GroupId("g")] = removed = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.groups._group_deletions.delete([GroupId("g")]))
        await until_all_wait()
        first = world.member("first")
        await first.fetch(add=[(ORDERS, 0)], max_wait_ms=0)
        await first.disconnect()
        world.state_log.hold_loaded = told = asyncio.Event()
        await world.member("second").fetch(add=[(ORDERS, 0)], max_wait_ms=0)
        for event in (written, told, removed):
            event.set()
            await until_all_wait()

    # Then
    assert world.group_log.replayed().durable_images() == {}
    assert world.state_log.memory.fold.states == {}
