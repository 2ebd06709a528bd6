"""Refusals that clients answer by asking again at once are held back like long polls; everything else is not."""

import asyncio
from collections.abc import Sequence

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.held_refusals import HeldRefusals
from kproxy.handlers.request_context import RequestContext
from kproxy.net.relay.memory.answer_budget import AnswerBudget
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages import share_acknowledge_response, share_fetch_request, share_fetch_response
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import (
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.in_memory.in_memory_waits import InMemoryWaits
from tests.unit.handlers.held_refusals_world import (
    ANOTHER_NODE,
    CONNECTION_ID,
    FETCH,
    NODE_ID,
    World,
)
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, partitions_of
from tests.worlds.waiting import until_all_wait


def fetched(*partitions: share_fetch_response.PartitionData, lock_ms: int = 0) -> ShareFetchResponse:
    topic = ShareFetchableTopicResponse(topic_id=b"topic-id-orders.", partitions=list(partitions))
    return ShareFetchResponse(responses=[topic], acquisition_lock_timeout_ms=lock_ms)


def partition(
    error_code: ErrorCode = ErrorCode.NONE, *, leader_id: int = -1, records: int = 0
) -> share_fetch_response.PartitionData:
    acquired = [AcquiredRecords(0, records - 1, 1)] if records else []
    leader = LeaderIdAndEpoch(leader_id, 0)
    return share_fetch_response.PartitionData(
        error_code=error_code, acquired_records=acquired, current_leader=leader
    )


def acknowledged(*codes: ErrorCode) -> ShareAcknowledgeResponse:
    parts = [share_acknowledge_response.PartitionData(error_code=code) for code in codes]
    topic = ShareAcknowledgeTopicResponse(topic_id=b"topic-id-orders.", partitions=parts)
    return ShareAcknowledgeResponse(responses=[topic])


GROWING = [100, 800, 3200, 3200, 3200]
REFUSED_AGAIN_AND_AGAIN: Sequence[tuple[Message, Message]] = [
    (ShareFetchRequest(), ShareFetchResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)),
    (ShareFetchRequest(), fetched(partition(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_id=NODE_ID))),
    (ShareFetchRequest(), fetched(partition(), partition(ErrorCode.UNKNOWN_TOPIC_ID, leader_id=0))),
    (ShareGroupHeartbeatRequest(), ShareGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)),
    (ShareAcknowledgeRequest(), ShareAcknowledgeResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)),
    (ShareAcknowledgeRequest(), acknowledged(ErrorCode.NOT_LEADER_OR_FOLLOWER)),
]


@pytest.mark.parametrize(("request_", "answer"), REFUSED_AGAIN_AND_AGAIN)
async def test_a_refusal_that_is_asked_for_again_is_held_longer_each_time_up_to_a_limit(
    request_: Message, answer: Message
) -> None:
    # When
    holds = await World(answer).holds_ms(len(GROWING), request_)

    # Then
    assert holds == GROWING


@pytest.mark.parametrize("error_code", [ErrorCode.CORRUPT_MESSAGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
async def test_a_partition_that_cannot_be_read_holds_the_others_up_no_longer_than_a_fetch_waits(
    error_code: ErrorCode,
) -> None:
    # When
    holds = await World(fetched(partition(), partition(error_code))).holds_ms(4, ShareFetchRequest())

    # Then
    assert holds == [100, 500, 500, 500]


INSTRUCTIVE: Sequence[tuple[Message, Message]] = [
    (ShareFetchRequest(), fetched(partition(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_id=ANOTHER_NODE))),
    (ShareFetchRequest(), ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND)),
    (ShareAcknowledgeRequest(), ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)),
    (ShareGroupHeartbeatRequest(), ShareGroupHeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)),
]


@pytest.mark.parametrize(("request_", "answer"), INSTRUCTIVE)
async def test_a_refusal_that_tells_what_to_do_next_is_held_from_the_second_in_a_row_on(
    request_: Message, answer: Message
) -> None:
    # When
    holds = await World(answer).holds_ms(4, request_)

    # Then
    assert holds == [0, 100, 800, 3200]


ANSWERED_AT_ONCE: Sequence[tuple[Message, Message]] = [
    (ShareFetchRequest(), fetched(partition(records=5))),
    (ShareFetchRequest(), fetched(partition(ErrorCode.UNKNOWN_TOPIC_ID), partition(records=5))),
    (ShareFetchRequest(), fetched()),
    (ShareFetchRequest(), ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST)),
    (
        ShareFetchRequest(share_session_epoch=-1),
        ShareFetchResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ),
    (ShareAcknowledgeRequest(), acknowledged(ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER)),
    (ShareAcknowledgeRequest(), acknowledged(ErrorCode.INVALID_RECORD_STATE)),
    (
        ShareAcknowledgeRequest(share_session_epoch=-1),
        acknowledged(ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ),
    (ShareGroupHeartbeatRequest(), ShareGroupHeartbeatResponse()),
    (ShareGroupHeartbeatRequest(), ShareGroupHeartbeatResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)),
    (
        ShareGroupHeartbeatRequest(member_epoch=-1),
        ShareGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR),
    ),
]


@pytest.mark.parametrize(("request_", "answer"), ANSWERED_AT_ONCE)
async def test_what_serves_the_client_or_ends_its_asking_is_never_held(
    request_: Message, answer: Message
) -> None:
    # When
    holds = await World(answer).holds_ms(3, request_)

    # Then
    assert holds == [0, 0, 0]


async def test_who_was_served_begins_anew() -> None:
    # Given
    world = World(fetched(partition(ErrorCode.UNKNOWN_TOPIC_ID)))
    await world.holds_ms(4)
    refused, world.answer = world.answer, fetched(partition(records=1))
    await world.holds_ms(1)
    world.answer = refused

    # When
    holds = await world.holds_ms(2)

    # Then
    assert holds == [100, 800]


async def test_what_a_request_has_waited_already_is_a_part_of_its_hold() -> None:
    # Given
    world = World(fetched(partition(), partition(ErrorCode.UNKNOWN_TOPIC_ID)), serving_ms=150)

    # When
    holds = await world.holds_ms(3)

    # Then
    assert holds == [150, 800, 3200]


async def test_a_refusal_of_some_partitions_does_not_keep_the_records_of_the_others_behind_the_wait_of_a_fetch() -> (
    None
):
    # Given
    patient = ShareFetchRequest(share_session_epoch=1, max_wait_ms=500)
    world = World(fetched(partition(), partition(ErrorCode.UNKNOWN_TOPIC_ID)), serving_ms=500)

    # When
    holds = await world.holds_ms(4, patient)

    # Then
    assert holds == [500, 500, 500, 500]


@pytest.mark.parametrize(("max_wait_ms", "longest_ms"), [(0, 100), (50, 100), (300, 300), (60_000, 500)])
async def test_records_beside_a_refused_partition_wait_no_longer_than_a_fetch_does(
    max_wait_ms: int, longest_ms: int
) -> None:
    """A fetch without MinBytes, or with a short MaxWaitMs, is answered at once: its others have not been waited for."""
    # Given
    world = World(fetched(partition(ErrorCode.LEADER_NOT_AVAILABLE)))
    world.open_session("alice", partition_count=2)
    world.open_session("bob", partition_count=1)
    beside_another, alone = (
        ShareFetchRequest(group_id="g", member_id=member_id, share_session_epoch=1, max_wait_ms=max_wait_ms)
        for member_id in ("alice", "bob")
    )

    # When
    holds = await world.holds_ms(4, beside_another)
    holds_alone = await world.holds_ms(1, alone)

    # Then
    assert holds == [100, longest_ms, longest_ms, longest_ms]
    assert holds_alone == [3200]


async def test_a_fetch_that_is_refused_as_a_whole_is_held_however_long_it_waited() -> None:
    # Given
    patient = ShareFetchRequest(share_session_epoch=1, max_wait_ms=500)
    world = World(ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_LIMIT_REACHED), serving_ms=500)

    # When
    holds = await world.holds_ms(3, patient)

    # Then
    assert holds == [500, 800, 3200]


async def test_a_hold_leaves_the_member_most_of_its_locks_time_for_its_acknowledgements() -> None:
    # Given
    world = World(fetched(partition(ErrorCode.UNKNOWN_TOPIC_ID), lock_ms=1_000))

    # When
    holds = await world.holds_ms(4)

    # Then
    assert holds == [100, 250, 250, 250]


async def test_what_is_held_holds_nothing_of_the_budget_that_all_answers_share() -> None:
    """A session that ended during a read is refused, and what was granted to that read is still held."""
    # Given
    budget = BufferBudget(limit_bytes=1 << 20)
    world = World(ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND), granted_bytes=1 << 19)
    await world.holds_ms(1)

    # When
    with AnswerBudget(budget) as world.answer_budget:
        task = await world.begin()
        was_held, left_bytes = not task.done(), budget.left_bytes
        world.held.release()
        await task

    # Then
    assert (was_held, left_bytes) == (True, 1 << 20)


async def test_a_hold_ends_with_its_connection() -> None:
    # Given
    world = World(ShareFetchResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
    task = await world.begin()
    was_held = not task.done()

    # When
    world.held.forsake(CONNECTION_ID)

    # Then
    await task
    assert (was_held, world.forsaken, len(world.waits), world.clock.now_ms()) == (
        True,
        [CONNECTION_ID],
        0,
        1_000,
    )


async def test_holds_end_when_what_was_wrong_is_over() -> None:
    # Given
    world = World(ShareFetchResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
    task = await world.begin()

    # When
    world.held.release()

    # Then
    await task
    assert world.clock.now_ms() == 1_000


async def test_at_the_end_of_the_process_nothing_is_held_any_more() -> None:
    # Given
    world = World(ShareFetchResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
    task = await world.begin()

    # When
    world.held.end()

    # Then
    await task
    assert await world.holds_ms(2) == [0, 0]


async def test_acknowledgements_of_a_refused_fetch_take_effect_before_it_is_held() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(5)
    member = world.member()
    await member.open(max_records=500, max_wait_ms=500)
    waits = InMemoryWaits(world.clock)
    held = HeldRefusals(world.groups.apis, waits, sessions=world.groups.sessions, clock=world.clock)
    world.reader.fail(ORDERS, 0, ErrorCode.KAFKA_STORAGE_ERROR)
    batch = share_fetch_request.AcknowledgementBatch(0, 4, [1])
    request = ShareFetchRequest(
        group_id=member.group_id,
        member_id=member.member_id,
        share_session_epoch=member.session_epoch,
        max_wait_ms=500,
        max_bytes=1 << 20,
        max_records=500,
        topics=[
            share_fetch_request.FetchTopic(
                ORDERS, [share_fetch_request.FetchPartition(0, acknowledgement_batches=[batch])]
            )
        ],
    )
    context = RequestContext(member.connection_id, NODE_ID, FETCH, 2, "client", "/127.0.0.1")

    # When
    task = asyncio.get_running_loop().create_task(
        held.serve(DecodedRequest(FETCH, 2, 1, "client", request), context)
    )
    await until_all_wait()

    # Then
    assert len(waits) == 1
    share_partition = world.groups.directory.find(world.key())
    assert share_partition is not None
    assert share_partition.start_offset == 5
    held.release()
    answer = await task
    assert isinstance(answer, ShareFetchResponse)
    (found,) = partitions_of(answer).values()
    assert (found.error_code, found.acknowledge_error_code) == (
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NONE,
    )


async def test_what_the_clients_of_a_connection_held_is_released_with_it() -> None:
    # Given
    world = World(ShareFetchResponse())

    # When
    await world.held.connection_closed(CONNECTION_ID)

    # Then
    assert world.closed == [CONNECTION_ID]


async def test_nothing_is_held_for_a_client_that_is_gone() -> None:
    # Given
    world = World(ShareFetchResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
    world.caller.is_gone = True

    # When
    holds = await world.holds_ms(2)

    # Then
    assert holds == [0, 0]


async def test_what_comes_behind_a_held_refusal_waits_until_that_is_answered() -> None:
    # Given
    world = World(ShareFetchResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
    task = await world.begin()

    # When
    world.held.more_arrived(CONNECTION_ID)

    # Then
    assert (world.hurried, task.done()) == ([CONNECTION_ID], False)
    world.held.release()
    await task
