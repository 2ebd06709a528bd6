"""The bytes of one request to the brokers, shared out over what is read."""

from kproxy.handlers.fetching.read_shares import acquirable_offsets
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.limits import ShareLimits
from tests.worlds.share_group_world import ORDERS, loaded, world_with_orders


async def test_what_had_no_room_comes_first_and_the_others_stay_in_turn() -> None:
    # Given
    world = await world_with_orders(partition_count=3)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(3)))
    for partition in range(3):
        await loaded(world.groups.directory, world.key(partition=partition))
        world.produce(1, partition=partition)
    world.groups.directory.read_size(world.key(partition=0)).is_first_due = True

    # When
    await alice.fetch(max_bytes=3_000)

    # Then
    assert [(read.partition, read.max_bytes) for read in world.reader.reads] == [
        (0, 1_000),
        (1, 1_000),
        (2, 1_000),
    ]


async def test_no_more_offsets_can_be_acquired_than_the_window_has_and_none_of_what_is_not_live() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=100))
    world = await world_with_orders(limits=limits)
    await world.member().open()
    services = world.groups._services
    before = acquirable_offsets(services, world.key(), 10)

    # When
    await loaded(world.groups.directory, world.key())

    # Then
    assert (before, acquirable_offsets(services, world.key(), 10)) == (0, 90)
