"""WriteShareGroupState: what a leader says."""

import asyncio
from dataclasses import replace

from kproxy.error_codes import ErrorCode
from kproxy.handlers.apis.share_state_requests import share_partition_key
from kproxy.handlers.apis.write_share_group_state import MOST_BATCHES, write_share_group_state
from kproxy.share import state_batches
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.record_state import RecordState
from kproxy.statelog.durable_state import DurableShareState
from kproxy.wire.messages.write_share_group_state_request import (
    PartitionData,
    StateBatch,
    WriteShareGroupStateRequest,
    WriteStateData,
)
from kproxy.wire.messages.write_share_group_state_response import (
    PartitionResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from tests.in_memory.in_memory_share_state_store import InMemoryShareStateStore
from tests.worlds.share_state_world import CONTEXT, GROUP, TOPIC, UNKNOWN_TOPIC, ShareStateWorld
from tests.worlds.waiting import turns_during


def a_request(
    *partitions: PartitionData, group_id: str = GROUP, topic_id: bytes = TOPIC
) -> WriteShareGroupStateRequest:
    return WriteShareGroupStateRequest(group_id, [WriteStateData(topic_id, list(partitions))])


async def answers(world: ShareStateWorld, request: WriteShareGroupStateRequest) -> list[PartitionResult]:
    """Serve `request`; return its only topic's results."""
    response = await write_share_group_state(world.services).serve(request, CONTEXT)
    assert isinstance(response, WriteShareGroupStateResponse)
    (topic,) = response.results
    assert topic.topic_id == request.topics[0].topic_id
    return topic.partitions


async def test_a_write_is_laid_over_the_state() -> None:
    # Given
    world = await ShareStateWorld().begin()
    batches = [StateBatch(12, 15, 2, 1), StateBatch(17, 17, 0, 2), StateBatch(18, 18, 3, 5)]

    # When
    (result,) = await answers(world, a_request(PartitionData(0, 3, 1, 11, 4, batches)))

    # Then
    assert result == PartitionResult(0)
    state = world.state_of(0)
    assert state is not None
    assert (state.leader_epoch, state.start_offset, state.delivery_complete_count) == (0, 11, 4)
    assert state.state_batches == (
        state_batches.StateBatch(12, 15, RecordState.ACKNOWLEDGED, 1),
        state_batches.StateBatch(17, 17, RecordState.AVAILABLE, 2),
        state_batches.StateBatch(18, 18, RecordState.ARCHIVING, 5),
    )


class WaitingStore(InMemoryShareStateStore):
    """Waits for the log before it tells of a state, as the durable one does."""

    async def read_summary(self, key: SharePartitionKey) -> DurableShareState | None:
        state = await super().read_summary(key)
        await asyncio.sleep(0)
        return state


async def test_a_live_share_partition_is_let_go_of_in_the_turn_in_which_the_write_is_queued() -> None:
    """Else a fetch that waits takes it up again in between, from the state before."""
    # Given
    world = await ShareStateWorld(WaitingStore()).begin()
    loop = asyncio.get_running_loop()
    start_offsets: list[int | None] = []

    def look(_: SharePartitionKey) -> None:
        loop.call_soon(lambda: start_offsets.append(getattr(world.state_of(0), "start_offset", None)))

    # When
    services = replace(world.services, on_change=look)
    await write_share_group_state(services).serve(a_request(PartitionData(0, 3, 1, 11)), CONTEXT)
    await asyncio.sleep(0)

    # Then
    assert start_offsets == [11]


async def test_a_write_of_too_many_batches_lets_go_of_nothing() -> None:
    # Given
    world = await ShareStateWorld().begin()
    too_many = [StateBatch(2 * number, 2 * number, 2, 1) for number in range(MOST_BATCHES + 1)]

    # When
    await answers(world, a_request(PartitionData(0, 3, 0, 0, 0, too_many)))

    # Then
    assert world.changed == []


async def test_each_partition_hears_why_it_was_refused() -> None:
    # Given
    world = await ShareStateWorld().begin()
    await world.store.read_state(share_partition_key(GROUP, TOPIC, 0), leader_epoch=5)

    # When
    results = await answers(
        world,
        a_request(
            PartitionData(0, 2, 5, 10),
            PartitionData(0, 3, 4, 10),
            PartitionData(1, 0, 0, 0),
            PartitionData(0, 3, 5, 10, 0, [StateBatch(12, 15, 1, 1)]),
            PartitionData(0, 3, 5, 10, 0, [StateBatch(12, 15, 5, 1)]),
            PartitionData(2, 3, 5, 10),
        ),
    )

    # Then
    assert [result.error_code for result in results] == [
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]


async def test_a_request_without_a_group_is_answered_with_nothing() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    response = await write_share_group_state(world.services).serve(
        a_request(PartitionData(0, 3, 0, 10), group_id=""), CONTEXT
    )

    # Then
    assert response == WriteShareGroupStateResponse([])


async def test_without_a_state_it_does_not_matter_whether_there_is_such_a_topic() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    (result,) = await answers(world, a_request(PartitionData(0, 3, 0, 10), topic_id=UNKNOWN_TOPIC))

    # Then
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert world.observer.reasons == ["invalid_request"]


async def test_a_write_of_more_batches_than_records_can_be_in_flight_is_refused_and_others_are_not() -> None:
    # Given
    world = await ShareStateWorld().begin()
    most = [StateBatch(2 * number, 2 * number, 2, 1) for number in range(MOST_BATCHES)]
    too_many = [*most, StateBatch(2 * MOST_BATCHES, 2 * MOST_BATCHES, 2, 1)]

    # When
    results = await answers(
        world, a_request(PartitionData(0, 3, 0, 0, 0, too_many), PartitionData(0, 3, 0, 0, 0, most))
    )

    # Then
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert results[0].error_message is not None
    assert "10001, expected 10000 at most" in results[0].error_message


async def test_writes_that_add_up_to_very_many_batches_are_refused_until_the_start_offset_has_moved() -> None:
    # Given
    world = await ShareStateWorld().begin()

    def writes(start_offset: int, first: int, count: int) -> PartitionData:
        offsets = range(100 + 2 * first, 100 + 2 * (first + count), 2)
        return PartitionData(
            0, 3, 0, start_offset, 0, [StateBatch(offset, offset, 2, 1) for offset in offsets]
        )

    # When
    results = await answers(
        world,
        a_request(
            writes(0, 0, MOST_BATCHES),
            writes(0, MOST_BATCHES, MOST_BATCHES),
            writes(0, 2 * MOST_BATCHES, 1),
            writes(4 * MOST_BATCHES, 0, 0),
            writes(4 * MOST_BATCHES, 2 * MOST_BATCHES, 1),
        ),
    )

    # Then
    refused, none = ErrorCode.INVALID_REQUEST, ErrorCode.NONE
    assert [result.error_code for result in results] == [none, none, refused, none, none]


async def test_a_write_of_very_many_batches_lets_others_go_on() -> None:
    # Given
    world = await ShareStateWorld().begin()
    many = [StateBatch(2 * number, 2 * number, 2, 1) for number in range(MOST_BATCHES)]

    # When
    turn_count = await turns_during(answers(world, a_request(*[PartitionData(0, 3, 0, 0, 0, many)] * 4)))

    # Then
    assert turn_count >= 4


def test_a_request_is_refused_partition_by_partition() -> None:
    response = write_share_group_state(ShareStateWorld().services).refusal_of(
        a_request(PartitionData(0, 3, 0, 10)), ErrorCode.COORDINATOR_NOT_AVAILABLE, "later"
    )

    assert response == WriteShareGroupStateResponse(
        [WriteStateResult(TOPIC, [PartitionResult(0, ErrorCode.COORDINATOR_NOT_AVAILABLE, "later")])]
    )
