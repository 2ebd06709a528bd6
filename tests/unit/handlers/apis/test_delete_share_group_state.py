"""DeleteShareGroupState: a state ends."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.handlers.apis.delete_share_group_state import delete_share_group_state
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.wire.messages.delete_share_group_state_request import (
    DeleteShareGroupStateRequest,
    DeleteStateData,
    PartitionData,
)
from kproxy.wire.messages.delete_share_group_state_response import (
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)
from tests.worlds.share_state_world import CONTEXT, GROUP, TOPIC, UNKNOWN_TOPIC, ShareStateWorld


def a_request(
    *partitions: PartitionData, group_id: str = GROUP, topic_id: bytes = TOPIC
) -> DeleteShareGroupStateRequest:
    return DeleteShareGroupStateRequest(group_id, [DeleteStateData(topic_id, list(partitions))])


async def answers(world: ShareStateWorld, request: DeleteShareGroupStateRequest) -> list[PartitionResult]:
    """Serve `request`; return its only topic's results."""
    response = await delete_share_group_state(world.services).serve(request, CONTEXT)
    assert isinstance(response, DeleteShareGroupStateResponse)
    (topic,) = response.results
    assert topic.topic_id == request.topics[0].topic_id
    return topic.partitions


async def test_a_state_is_deleted_and_one_that_is_not_there_is_no_error() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    results = await answers(world, a_request(PartitionData(0), PartitionData(1), PartitionData(-1)))

    # Then
    assert [(result.partition, result.error_code) for result in results] == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.NONE),
        (-1, ErrorCode.INVALID_REQUEST),
    ]
    assert world.state_of(0) is None


async def test_a_request_without_a_group_is_answered_with_nothing() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    response = await delete_share_group_state(world.services).serve(
        a_request(PartitionData(0), group_id=""), CONTEXT
    )

    # Then
    assert response == DeleteShareGroupStateResponse([])


async def test_a_topic_that_is_not_there_is_told_by_partition() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    (result,) = await answers(world, a_request(PartitionData(0), topic_id=UNKNOWN_TOPIC))

    # Then
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.observer.reasons == ["unknown_topic_or_partition"]


def test_a_request_is_refused_partition_by_partition() -> None:
    response = delete_share_group_state(ShareStateWorld().services).refusal_of(
        a_request(PartitionData(0)), ErrorCode.COORDINATOR_NOT_AVAILABLE, "later"
    )

    assert response == DeleteShareGroupStateResponse(
        [DeleteStateResult(TOPIC, [PartitionResult(0, ErrorCode.COORDINATOR_NOT_AVAILABLE, "later")])]
    )


async def test_others_have_a_turn_while_very_many_partitions_are_refused() -> None:
    """What is refused waits for nothing by itself."""
    # Given
    world = await ShareStateWorld().begin()
    turns: list[str] = []

    async def deleted() -> None:
        await answers(world, a_request(*[PartitionData(-1)] * (3 * MOST_AT_ONCE)))
        turns.append("answered")

    async def other() -> None:
        for _ in range(3):
            turns.append("another")
            await asyncio.sleep(0)

    # When
    await asyncio.gather(deleted(), other())

    # Then
    assert turns == ["another", "another", "another", "answered"]
