"""Many log partitions that have little to write, or little of much work, leave turns to others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.pauses import MOST_AT_FIRST, MOST_AT_ONCE, short_appends
from kproxy.net.state_log.append_outcome import AppendOutcome
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import SharePartitionKey, StateEpoch
from kproxy.statelog.operations import Initialize
from tests.event_loops import async_fixture
from tests.worlds.held_appends import CLAIM_EPOCH, HeldPartition
from tests.worlds.state_log_builders import KEY, a_batch, a_delta
from tests.worlds.state_queue_driver import a_write
from tests.worlds.waiting import until_all_wait

BEGINNINGS = [
    Initialize(SharePartitionKey(KEY.group_id, KEY.topic_id, number), StateEpoch(0), 0)
    for number in range(MOST_AT_FIRST)
]


@async_fixture
async def tasks() -> AsyncIterator[TaskKeeper]:
    keeper = TaskKeeper()
    yield keeper
    await keeper.close()


async def most_made_in_a_turn(
    partitions: Sequence[HeldPartition], submit: Callable[[HeldPartition], object]
) -> int:
    """Submit to all of them in one turn; return how many make an append in one at most."""
    for partition in partitions:
        submit(partition)
    most = made = 0
    while made < len(partitions):
        await asyncio.sleep(0)
        before, made = made, sum(len(partition.appends.under_way) for partition in partitions)
        most = max(most, made - before)
    return most


async def test_few_operations_on_very_many_runs_of_offsets_are_made_in_turns_of_their_own(
    tasks: TaskKeeper,
) -> None:
    # Given
    partitions = [HeldPartition(tasks, number) for number in range(4)]
    for partition in partitions:
        partition.submit([Initialize(KEY, StateEpoch(0), 0)])
        await until_all_wait()
        partition.appends.under_way.pop().outcome.set_result(AppendOutcome(ErrorCode.NONE, CLAIM_EPOCH + 1))
        await until_all_wait()
    runs = [a_batch(offset, offset) for offset in range(1, 5_001, 2)]

    # When
    most = await most_made_in_a_turn(
        partitions, lambda partition: partition.submit([a_write(a_delta(0, 0, *runs), state_epoch=0)])
    )

    # Then
    assert most == 1


async def test_short_appends_of_very_many_partitions_are_made_in_several_turns(tasks: TaskKeeper) -> None:
    # Given
    start = short_appends()
    partitions = [
        HeldPartition(tasks, number, start=start) for number in range(4 * MOST_AT_ONCE // MOST_AT_FIRST)
    ]

    # When
    most = await most_made_in_a_turn(partitions, lambda partition: partition.submit(BEGINNINGS))

    # Then
    assert most <= MOST_AT_ONCE // MOST_AT_FIRST
