"""What the five requests to the share coordinator have in common."""

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorNotAvailable, InvalidRequest, UnknownTopicOrPartition
from kproxy.handlers.apis.share_state_requests import share_partition_key
from kproxy.share.identifiers import SharePartitionKey
from kproxy.statelog.durable_state import DurableShareState
from kproxy.wire.messages.delete_share_group_state_response import PartitionResult
from tests.worlds.share_state_world import CONTEXT, GROUP, TOPIC, UNKNOWN_TOPIC, ShareStateWorld


async def summary(world: ShareStateWorld, key: SharePartitionKey) -> DurableShareState | ApiError | None:
    return await world.services.answer(key, world.store.read_summary, CONTEXT)


async def test_an_operation_answers_for_a_partition_that_exists() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    answer = await summary(world, share_partition_key(GROUP, TOPIC, 0))

    # Then
    assert answer == world.state_of(0)
    assert world.observer.refusals == []


async def test_a_partition_that_the_topic_does_not_have_is_unknown() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    answer = await summary(world, share_partition_key(GROUP, TOPIC, 2))

    # Then
    assert isinstance(answer, UnknownTopicOrPartition)
    assert str(answer) == "topic 'orders-in' has 2 partitions, not number 2"
    assert world.observer.contexts == [CONTEXT]


async def test_a_topic_id_that_the_cluster_does_not_have_is_unknown() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    answer = await summary(world, share_partition_key(GROUP, UNKNOWN_TOPIC, 0))

    # Then
    assert isinstance(answer, UnknownTopicOrPartition)


async def test_who_needs_a_state_is_told_first_that_there_is_none() -> None:
    # Given
    world = await ShareStateWorld().begin()
    key = share_partition_key(GROUP, UNKNOWN_TOPIC, 0)

    # When
    answer = await world.services.answer(key, world.store.read_summary, CONTEXT, needs_state=True)

    # Then
    assert isinstance(answer, InvalidRequest)
    assert world.observer.reasons == ["invalid_request"]


async def test_who_needs_a_state_is_told_that_its_topic_is_gone() -> None:
    # Given
    world = await ShareStateWorld().begin()
    key = share_partition_key(GROUP, UNKNOWN_TOPIC, 0)
    await world.store.initialize_state(key, state_epoch=0, start_offset=0)

    # When
    answer = await world.services.answer(key, world.store.read_summary, CONTEXT, needs_state=True)

    # Then
    assert isinstance(answer, UnknownTopicOrPartition)


async def test_a_negative_partition_is_refused_whether_there_is_such_a_topic_or_not() -> None:
    # Given
    world = await ShareStateWorld().begin()

    # When
    answers = [
        await summary(world, share_partition_key(GROUP, topic, -1)) for topic in (TOPIC, UNKNOWN_TOPIC)
    ]

    # Then
    assert [type(answer) for answer in answers] == [InvalidRequest, InvalidRequest]


async def test_while_the_cluster_cannot_be_asked_nobody_is_told_that_a_topic_is_gone() -> None:
    # Given
    world = await ShareStateWorld().begin()
    world.metadata.is_unavailable = True

    # When
    answer = await summary(world, share_partition_key(GROUP, TOPIC, 0))

    # Then
    assert isinstance(answer, CoordinatorNotAvailable)


async def test_whoever_holds_a_state_in_memory_lets_go_of_it_before_it_is_changed() -> None:
    # Given
    world = await ShareStateWorld().begin()
    key = share_partition_key(GROUP, TOPIC, 0)
    seen: list[object] = []

    async def delete(named: SharePartitionKey) -> None:
        seen.append((named, [*world.changed]))
        await world.store.delete_state(named)

    # When
    result = await world.services.answer_change(key, delete, CONTEXT, result_class=PartitionResult)

    # Then
    assert result == PartitionResult(0)
    assert seen == [(key, [key])]
    assert world.state_of(0) is None


async def test_nobody_lets_go_of_what_only_looks_or_is_not_there() -> None:
    # Given
    world = await ShareStateWorld().begin()
    await summary(world, share_partition_key(GROUP, TOPIC, 0))

    # When
    result = await world.services.answer_change(
        share_partition_key(GROUP, TOPIC, 2),
        world.store.delete_state,
        CONTEXT,
        result_class=PartitionResult,
    )

    # Then
    assert (result.partition, result.error_code) == (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert world.changed == []
