"""What share groups hold in memory of a slot comes and goes with it, and nothing of another does."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import pytest

from kproxy.application.slot_contents import SlotContents
from kproxy.errors import CoordinatorLoadInProgress
from kproxy.handlers.groups.group_config_keys import RECORD_LOCK_DURATION_MS
from kproxy.handlers.live.fetch_signals import HeardAvailability
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import MemberId, SharePartitionKey
from kproxy.share.limits import GroupLimits
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired
from tests.worlds.state_logs import SLOT_COUNT, StateLogBacking, create_state_topics, group_of_slot
from tests.worlds.waiting import until_all_wait

PARTITION_COUNT = 8
T = TypeVar("T")


def contents_over(world: ShareGroupWorld, slots: StateSlots) -> SlotContents:
    """Return the contents of `slots`, held by the share groups of `world`."""
    directory = SlotDirectory()
    directory.open(slots)
    return SlotContents(directory, lambda: world.groups)


def counted(find: Callable[[T], StateSlot], looks: Counter[object]) -> Callable[[T], StateSlot]:
    """Return `find`, which counts how often it is asked for what."""

    def find_and_count(what: T) -> StateSlot:
        looks[what] += 1
        return find(what)

    return find_and_count


async def idle_slots(backing: StateLogBacking) -> StateSlots:
    """Return slots whose life has not begun."""
    return backing.idle_slots(backing.claims(await backing.found()), SLOT_COUNT)


async def live_world() -> tuple[ShareGroupWorld, dict[int, set[SharePartitionKey]]]:
    """Return share groups with live share-partitions in both slots, and which those are."""
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=PARTITION_COUNT)
    partitions = [(ORDERS, partition) for partition in range(PARTITION_COUNT)]
    keys: dict[int, set[SharePartitionKey]] = {}
    for slot in range(SLOT_COUNT):
        group_id = group_of_slot(slot)
        keys[slot] = {await world.initialize(group_id, partition=partition) for _, partition in partitions}
        member = world.member(group_id=group_id)
        await member.heartbeat(0, ["orders"])
        await member.open(*partitions, max_records=1)
    assert live_keys(world) == set().union(*keys.values())
    return world, keys


def live_keys(world: ShareGroupWorld) -> set[SharePartitionKey]:
    """Return the share-partitions that are in memory."""
    keys = [
        world.key(group_of_slot(slot), partition=partition)
        for slot in range(SLOT_COUNT)
        for partition in range(PARTITION_COUNT)
    ]
    return {key for key in keys if world.groups.directory.find(key) is not None}


async def test_a_lost_slot_takes_its_groups_and_share_partitions_along_and_no_others() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, keys = await live_world()
        contents = contents_over(world, await idle_slots(backing))
        before = set(world.groups.coordinator.group_ids)

        # When
        contents.slot_lost(0)

        # Then
        assert live_keys(world) == keys[1]
        assert before == {group_of_slot(slot) for slot in range(SLOT_COUNT)}
        assert world.groups.coordinator.group_ids == (group_of_slot(1),)


async def test_a_slot_that_another_process_is_to_serve_takes_its_share_sessions_along_and_no_others() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, _ = await live_world()
        contents = contents_over(world, await idle_slots(backing))
        before = {session.key.group_id for session in world.groups.sessions.sessions()}

        # When
        contents.slot_lost(0)
        after_the_loss = {session.key.group_id for session in world.groups.sessions.sessions()}
        contents.slot_left(0)

        # Then
        assert before == after_the_loss == {group_of_slot(slot) for slot in range(SLOT_COUNT)}
        assert {session.key.group_id for session in world.groups.sessions.sessions()} == {group_of_slot(1)}


async def test_slots_that_are_lost_together_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty slots may be lost in one turn of the event loop: a look at all that is held for each holds everybody up."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, _ = await live_world()
        await world.member(group_id="a").heartbeat(0, ["orders"])
        world.configure("share.record.lock.duration.ms", "20000", group_id="b")
        slots = await idle_slots(backing)
        contents = contents_over(world, slots)
        looks: Counter[object] = Counter()
        monkeypatch.setattr(slots, "slot_of_group", counted(slots.slot_of_group, looks))

        # When
        for slot in range(SLOT_COUNT):
            contents.slot_lost(slot)
            contents.slot_left(slot)

        # Then
        assert set(looks.values()) == {1}
        assert live_keys(world) == set()
        assert world.groups.coordinator.group_ids == ()
        assert not world.groups.configs.group_ids


async def test_slots_that_are_loaded_one_after_the_other_look_for_no_group_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What each of them brings makes another look at all that is held necessary: fifty do at each start."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, _ = await live_world()
        slots = await idle_slots(backing)
        contents = contents_over(world, slots)
        looks: Counter[object] = Counter()
        monkeypatch.setattr(slots, "slot_of_group", counted(slots.slot_of_group, looks))
        lock_duration = {"share.record.lock.duration.ms": "20000"}

        # When
        for slot in range(SLOT_COUNT):
            contents.slot_loaded(slot, (), {f"configured in {slot}": lock_duration})
            await asyncio.sleep(0)

        # Then
        assert set(looks.values()) == {1}
        assert not any(str(group_id).startswith("configured in") for group_id in looks)


async def test_a_group_is_looked_for_anew_when_there_is_another_number_of_slots() -> None:
    """State topics that were deleted may be made anew with more partitions."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, keys = await live_world()
        claims, directory = backing.claims(await backing.found()), SlotDirectory()
        directory.open(backing.idle_slots(claims, SLOT_COUNT))
        contents = SlotContents(directory, lambda: world.groups)
        contents.slot_left(0)
        await asyncio.sleep(0)
        more = backing.idle_slots(claims, 5)
        directory.close("the topics are others")
        directory.open(more)

        # When
        for number in {more.slot_of_group(group_of_slot(slot)).number for slot in keys}:
            contents.slot_lost(number)

        # Then
        assert live_keys(world) == set()
        assert world.groups.coordinator.group_ids == ()


async def test_what_began_between_the_losses_of_two_slots_goes_with_its_slot() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, keys = await live_world()
        contents = contents_over(world, await idle_slots(backing))
        for key in keys[1]:
            world.groups.directory.discard(key)
        contents.slot_lost(0)
        loads = [world.groups.directory.begin_load(key) for key in keys[1]]
        world.groups.coordinator.forget(group_of_slot(1))
        join = Heartbeat(group_of_slot(1), MemberId("late"), 0, None, ("orders",), "client", "/127.0.0.1")
        world.groups.coordinator.admit(join, topics={}, limits=GroupLimits(), now_ms=0)
        world.configure("share.record.lock.duration.ms", "20000", group_id=group_of_slot(1))

        # When
        contents.slot_lost(1)

        # Then
        assert keys[1]
        assert all(load.is_outdated for load in loads)
        assert world.groups.coordinator.group_ids == ()
        assert not world.groups.configs.group_ids


async def test_a_loaded_slot_brings_its_groups_and_their_configurations() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world = ShareGroupWorld()
        await world.member(group_id="a").heartbeat(0, ["orders"])
        images = tuple(world.group_log.replayed().durable_images().values())
        world.groups = world.new_process()
        contents = contents_over(world, await idle_slots(backing))

        # When
        contents.slot_loaded(0, images, {"a": {"share.record.lock.duration.ms": "15000"}})

        # Then
        assert world.groups.coordinator.group_ids == ("a",)
        assert world.groups.configs.number("a", RECORD_LOCK_DURATION_MS) == 15_000


async def test_what_a_group_has_configured_goes_and_comes_with_its_slot() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world = ShareGroupWorld()
        here, elsewhere = group_of_slot(0), group_of_slot(1)
        for group_id in (here, elsewhere):
            world.configure(RECORD_LOCK_DURATION_MS, "20000", group_id=group_id)
        contents = contents_over(world, await idle_slots(backing))
        durations = world.groups.configs.number

        # When
        contents.slot_lost(0)
        lost = durations(here, RECORD_LOCK_DURATION_MS), durations(elsewhere, RECORD_LOCK_DURATION_MS)
        contents.slot_loaded(0, (), {here: {RECORD_LOCK_DURATION_MS: "15000"}})

        # Then
        assert lost == (30_000, 20_000)
        assert durations(here, RECORD_LOCK_DURATION_MS) == 15_000
        assert durations(elsewhere, RECORD_LOCK_DURATION_MS) == 20_000


async def test_fetches_that_wait_are_woken_by_the_load_of_their_slot_and_sleep_on_at_that_of_others() -> None:
    """Where a share-partition begins depends on what its group has configured."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world = ShareGroupWorld(passes_time=False)
        contents = contents_over(world, await idle_slots(backing))
        here = group_of_slot(0)
        await world.initialize(here, start_offset=-1)
        world.produce(3)
        world.group_log.unreadiness = CoordinatorLoadInProgress("replaying")
        task = asyncio.get_running_loop().create_task(world.member(group_id=here).fetch(add=[(ORDERS, 0)]))
        await until_all_wait()
        world.group_log.unreadiness = None

        # When
        contents.slot_loaded(1, (), {})
        await until_all_wait(50)
        loads_for_others = list(world.state_log.loads)
        contents.slot_loaded(0, (), {here: {"share.auto.offset.reset": "earliest"}})
        await until_all_wait(50)
        world.clock.advance(500)

        # Then
        assert loads_for_others == []
        assert acquired(await task) == [(0, 2, 1)]


async def test_what_is_in_memory_from_before_a_slot_was_loaded_is_discarded() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, keys = await live_world()
        contents = contents_over(world, await idle_slots(backing))

        # When
        contents.slot_loaded(1, (), {})

        # Then
        assert live_keys(world) == keys[0]


async def test_a_slot_that_comes_or_goes_costs_no_look_at_the_share_partitions_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, keys = await live_world()
        contents = contents_over(world, await idle_slots(backing))
        looks: Counter[str] = Counter()

        def known_keys(directory: SharePartitionDirectory) -> Mapping[SharePartitionKey, object]:
            del directory
            looks["known"] += 1
            return {}

        def listened_keys(availability: HeardAvailability) -> Iterable[SharePartitionKey]:
            del availability
            looks["listened"] += 1
            return ()

        monkeypatch.setattr(SharePartitionDirectory, "known_keys", known_keys)
        monkeypatch.setattr(HeardAvailability, "listened_keys", listened_keys)

        # When
        contents.slot_loaded(0, (), {})
        contents.slot_lost(0)

        # Then
        assert not looks
        assert live_keys(world) == keys[1]
