"""ReadShareGroupStateSummary: what an administrator needs to know."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.apis.read_share_group_state_summary import read_share_group_state_summary
from kproxy.wire.messages.read_share_group_state_summary_request import (
    PartitionData,
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryData,
)
from kproxy.wire.messages.read_share_group_state_summary_response import (
    PartitionResult,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)
from tests.worlds.share_state_world import CONTEXT, GROUP, TOPIC, UNKNOWN_TOPIC, ShareStateWorld


def a_request(
    *partitions: PartitionData, group_id: str = GROUP, topic_id: bytes = TOPIC
) -> ReadShareGroupStateSummaryRequest:
    return ReadShareGroupStateSummaryRequest(group_id, [ReadStateSummaryData(topic_id, list(partitions))])


async def answers(
    world: ShareStateWorld, request: ReadShareGroupStateSummaryRequest
) -> list[PartitionResult]:
    """Serve `request`; return its only topic's results."""
    response = await read_share_group_state_summary(world.services).serve(request, CONTEXT)
    assert isinstance(response, ReadShareGroupStateSummaryResponse)
    (topic,) = response.results
    assert topic.topic_id == request.topics[0].topic_id
    return topic.partitions


async def test_a_summary_tells_the_state_without_its_batches_and_changes_nothing() -> None:
    # Given
    world = await ShareStateWorld().begin()
    before = world.state_of(0)

    # When
    results = await answers(world, a_request(PartitionData(0, 99), PartitionData(1, -1)))

    # Then
    assert results == [
        PartitionResult(0, state_epoch=3, leader_epoch=0, start_offset=10, delivery_complete_count=0),
        PartitionResult(1, state_epoch=0, leader_epoch=0, start_offset=-1, delivery_complete_count=-1),
    ]
    assert world.state_of(0) == before


async def test_a_partition_that_cannot_be_is_refused() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    (result,) = await answers(world, a_request(PartitionData(-1, 0)))

    # Then
    assert result.error_code == ErrorCode.INVALID_REQUEST


async def test_a_request_without_a_group_is_answered_with_nothing() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    response = await read_share_group_state_summary(world.services).serve(
        a_request(PartitionData(0, 0), group_id=""), CONTEXT
    )

    # Then
    assert response == ReadShareGroupStateSummaryResponse([])


async def test_a_topic_that_is_not_there_is_told_by_partition() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    (result,) = await answers(world, a_request(PartitionData(0, 0), topic_id=UNKNOWN_TOPIC))

    # Then
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.observer.reasons == ["unknown_topic_or_partition"]


def test_a_request_is_refused_partition_by_partition() -> None:
    response = read_share_group_state_summary(ShareStateWorld().services).refusal_of(
        a_request(PartitionData(0, 0)), ErrorCode.COORDINATOR_NOT_AVAILABLE, "later"
    )

    assert response == ReadShareGroupStateSummaryResponse(
        [ReadStateSummaryResult(TOPIC, [PartitionResult(0, ErrorCode.COORDINATOR_NOT_AVAILABLE, "later")])]
    )
