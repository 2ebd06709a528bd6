"""ReadShareGroupState: what a leader needs to know."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.apis.read_share_group_state import read_share_group_state
from kproxy.handlers.apis.share_state_requests import share_partition_key
from kproxy.share import state_batches
from kproxy.share.record_state import RecordState
from kproxy.wire.messages.read_share_group_state_request import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadStateData,
)
from kproxy.wire.messages.read_share_group_state_response import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)
from tests.worlds.share_state_world import CONTEXT, GROUP, TOPIC, UNKNOWN_TOPIC, ShareStateWorld


def a_request(
    *partitions: PartitionData, group_id: str = GROUP, topic_id: bytes = TOPIC
) -> ReadShareGroupStateRequest:
    return ReadShareGroupStateRequest(group_id, [ReadStateData(topic_id, list(partitions))])


async def answers(world: ShareStateWorld, request: ReadShareGroupStateRequest) -> list[PartitionResult]:
    """Serve `request`; return its only topic's results."""
    response = await read_share_group_state(world.services).serve(request, CONTEXT)
    assert isinstance(response, ReadShareGroupStateResponse)
    (topic,) = response.results
    assert topic.topic_id == request.topics[0].topic_id
    return topic.partitions


async def test_a_leader_reads_the_state_and_its_epoch_is_stored() -> None:
    # Given
    world = await ShareStateWorld().begin()
    await world.store.write_state(
        share_partition_key(GROUP, TOPIC, 0),
        state_epoch=3,
        leader_epoch=0,
        start_offset=10,
        delivery_complete_count=2,
        batches=[state_batches.StateBatch(12, 13, RecordState.ACKNOWLEDGED, 1)],
    )

    # When
    results = await answers(world, a_request(PartitionData(0, 7)))

    # Then
    assert results == [
        PartitionResult(0, state_epoch=3, start_offset=10, state_batches=[StateBatch(12, 13, 2, 1)])
    ]
    state = world.state_of(0)
    assert state is not None
    assert state.leader_epoch == 7


async def test_an_older_leader_and_a_state_that_is_not_there_are_told_apart() -> None:
    # Given
    world = await ShareStateWorld().begin()
    await answers(world, a_request(PartitionData(0, 7)))

    # When
    results = await answers(world, a_request(PartitionData(0, 6), PartitionData(1, 0), PartitionData(0, -1)))

    # Then
    assert [result.error_code for result in results] == [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]


async def test_a_request_without_a_group_is_answered_with_nothing() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    response = await read_share_group_state(world.services).serve(
        a_request(PartitionData(0, 7), group_id=""), CONTEXT
    )

    # Then
    assert response == ReadShareGroupStateResponse([])


async def test_without_a_state_it_does_not_matter_whether_there_is_such_a_topic() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    (result,) = await answers(world, a_request(PartitionData(0, 7), topic_id=UNKNOWN_TOPIC))

    # Then
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert world.observer.reasons == ["invalid_request"]


def test_a_request_is_refused_partition_by_partition() -> None:
    response = read_share_group_state(ShareStateWorld().services).refusal_of(
        a_request(PartitionData(0, 7)), ErrorCode.COORDINATOR_NOT_AVAILABLE, "later"
    )

    assert response == ReadShareGroupStateResponse(
        [ReadStateResult(TOPIC, [PartitionResult(0, ErrorCode.COORDINATOR_NOT_AVAILABLE, "later")])]
    )
