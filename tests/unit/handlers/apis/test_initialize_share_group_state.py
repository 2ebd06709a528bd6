"""InitializeShareGroupState: a state begins."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.apis.initialize_share_group_state import initialize_share_group_state
from kproxy.wire.messages.initialize_share_group_state_request import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from kproxy.wire.messages.initialize_share_group_state_response import (
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)
from tests.worlds.share_state_world import CONTEXT, GROUP, TOPIC, UNKNOWN_TOPIC, ShareStateWorld


def a_request(
    *partitions: PartitionData, group_id: str = GROUP, topic_id: bytes = TOPIC
) -> InitializeShareGroupStateRequest:
    return InitializeShareGroupStateRequest(group_id, [InitializeStateData(topic_id, list(partitions))])


async def answers(world: ShareStateWorld, request: InitializeShareGroupStateRequest) -> list[PartitionResult]:
    """Serve `request`; return its only topic's results."""
    response = await initialize_share_group_state(world.services).serve(request, CONTEXT)
    assert isinstance(response, InitializeShareGroupStateResponse)
    (topic,) = response.results
    assert topic.topic_id == request.topics[0].topic_id
    return topic.partitions


async def test_each_partition_is_initialized_or_told_why_not() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    results = await answers(
        world, a_request(PartitionData(1, 5, -1), PartitionData(0, 2, 0), PartitionData(0, -1, 0))
    )

    # Then
    assert [(result.partition, result.error_code) for result in results] == [
        (1, ErrorCode.NONE),
        (0, ErrorCode.FENCED_STATE_EPOCH),
        (0, ErrorCode.INVALID_REQUEST),
    ]
    state = world.state_of(1)
    assert state is not None
    assert (state.state_epoch, state.start_offset) == (5, -1)
    assert results[1].error_message is not None
    assert "behind 3" in results[1].error_message


async def test_a_request_without_a_group_is_answered_with_nothing() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    response = await initialize_share_group_state(world.services).serve(
        a_request(PartitionData(0, 3, 10), group_id=""), CONTEXT
    )

    # Then
    assert response == InitializeShareGroupStateResponse([])


async def test_a_topic_that_is_not_there_is_told_by_partition() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    (result,) = await answers(world, a_request(PartitionData(0, 3, 10), topic_id=UNKNOWN_TOPIC))

    # Then
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.observer.reasons == ["unknown_topic_or_partition"]


def test_a_request_is_refused_partition_by_partition() -> None:
    response = initialize_share_group_state(ShareStateWorld().services).refusal_of(
        a_request(PartitionData(0, 3, 10)), ErrorCode.COORDINATOR_NOT_AVAILABLE, "later"
    )

    assert response == InitializeShareGroupStateResponse(
        [InitializeStateResult(TOPIC, [PartitionResult(0, ErrorCode.COORDINATOR_NOT_AVAILABLE, "later")])]
    )
