"""What share groups hold in memory of a slot comes and goes with it, and nothing of another does."""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import pytest

from kproxy.application.slot_contents import SlotContents
from kproxy.handlers.groups.group_config_keys import RECORD_LOCK_DURATION_MS
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.slot import StateSlot
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey
from kproxy.share.limits import GroupLimits
from kproxy.statelog.partitioning import group_partition, state_partition
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld
from tests.worlds.state_logs import SLOT_COUNT, StateLogBacking, create_state_topics

PARTITION_COUNT = 8
T = TypeVar("T")


def groups_of(slot: int) -> str:
    """Return a group of a slot."""
    return next(name for name in "abcdefgh" if group_partition(GroupId(name), SLOT_COUNT) == slot)


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
    for partition in range(PARTITION_COUNT):
        await world.initialize(partition=partition)
    await world.member().open(*((ORDERS, partition) for partition in range(PARTITION_COUNT)), max_records=1)
    keys = [world.key(partition=partition) for partition in range(PARTITION_COUNT)]
    live = {key for key in keys if world.groups.directory.find(key) is not None}
    assert live == set(keys)
    return world, {
        slot: {key for key in keys if state_partition(key, SLOT_COUNT) == slot} for slot in range(SLOT_COUNT)
    }


def live_keys(world: ShareGroupWorld) -> set[SharePartitionKey]:
    """Return the share-partitions that are in memory."""
    keys = [world.key(partition=partition) for partition in range(PARTITION_COUNT)]
    return {key for key in keys if world.groups.directory.find(key) is not None}


async def test_a_lost_slot_takes_its_groups_and_share_partitions_along_and_no_others() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, keys = await live_world()
        contents = contents_over(world, await idle_slots(backing))
        for slot in range(SLOT_COUNT):
            await world.member(group_id=groups_of(slot)).heartbeat(0, ["orders"])
        before = set(world.groups.coordinator.group_ids)

        # When
        contents.slot_lost(0)

        # Then
        assert live_keys(world) == keys[1]
        assert keys[0]
        gone = before - set(world.groups.coordinator.group_ids)
        assert gone == {group_id for group_id in before if group_partition(group_id, SLOT_COUNT) == 0}
        assert groups_of(1) in world.groups.coordinator.group_ids


async def test_slots_that_are_lost_together_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty slots may be lost in one turn of the event loop: a look at all that is held for each holds everybody up."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world, _ = await live_world()
        await world.member(group_id="a").heartbeat(0, ["orders"])
        slots = await idle_slots(backing)
        contents = contents_over(world, slots)
        looks: Counter[object] = Counter()
        for name in ("slot_of_key", "slot_of_group"):
            monkeypatch.setattr(slots, name, counted(getattr(slots, name), looks))

        # When
        for slot in range(SLOT_COUNT):
            contents.slot_lost(slot)

        # Then
        assert set(looks.values()) == {1}
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
        join = Heartbeat(
            GroupId(groups_of(1)), MemberId("late"), 0, None, ("orders",), "client", "/127.0.0.1"
        )
        world.groups.coordinator.admit(join, topics={}, limits=GroupLimits(), now_ms=0)

        # When
        contents.slot_lost(1)

        # Then
        assert keys[1]
        assert all(load.is_outdated for load in loads)
        assert world.groups.coordinator.group_ids == ()


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


async def test_what_groups_have_configured_outlives_the_loss_of_their_slot_but_not_what_its_log_says() -> (
    None
):
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        world = ShareGroupWorld()
        configs = world.groups.configs
        for slot in range(SLOT_COUNT):
            world.configure("share.record.lock.duration.ms", "20000", group_id=groups_of(slot))
        contents = contents_over(world, await idle_slots(backing))

        # When
        contents.slot_lost(0)
        after_loss = configs.own_values(groups_of(0))
        contents.slot_loaded(0, (), {})

        # Then
        assert after_loss == {"share.record.lock.duration.ms": "20000"}
        assert configs.own_values(groups_of(0)) == {}
        assert configs.own_values(groups_of(1)) == {"share.record.lock.duration.ms": "20000"}


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
