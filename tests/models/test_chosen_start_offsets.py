"""Where a share-partition begins is chosen once (`share.auto.offset.reset`), whatever happens after the choice."""

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateNotWritten
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired, partitions_of

KEY = ShareGroupWorld.key()


async def test_a_chosen_start_offset_outlives_a_crash_before_anything_was_acknowledged() -> None:
    """With `latest`, the default, a second choice would lie behind records that members held already."""
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    world.produce(5)
    alice = world.member()
    await alice.open(max_records=500)
    world.produce(3)
    await alice.fetch()

    # When
    world.restart()
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert acquired(answer) == [(5, 7, 1)]


async def test_a_start_offset_is_chosen_again_as_long_as_none_became_durable() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    world.state_log.persist_failure = StateNotWritten("refused")
    alice = world.member()
    failed = await alice.fetch(add=[(ORDERS, 0)], max_wait_ms=0)

    # When
    world.state_log.persist_failure = None
    world.produce(5)
    await alice.fetch(max_wait_ms=0)

    # Then
    assert partitions_of(failed)[ORDERS, 0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    live = world.groups.directory.find(KEY)
    assert live is not None
    assert live.start_offset == 5


async def test_a_start_offset_that_nobody_used_is_chosen_again_once_all_have_left() -> None:
    """As at a broker, which writes none before it writes what a member did: `earliest` may be set meanwhile."""
    # Given
    world = ShareGroupWorld()
    world.produce(3)
    await world.initialize(start_offset=-1)
    alice = world.member()
    await alice.open(max_records=500)
    await alice.acknowledge(epoch=-1)
    world.configure("share.auto.offset.reset", "earliest")

    # When
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert acquired(answer) == [(0, 2, 1)]


async def test_a_start_offset_is_kept_once_a_member_held_a_record() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize(start_offset=-1)
    alice = world.member()
    await alice.open(max_records=500)
    world.produce(3)
    await alice.fetch()
    await alice.acknowledge(epoch=-1)

    # When
    answer = await world.member("bob").open(max_records=500)

    # Then
    assert acquired(answer) == [(0, 2, 2)]
