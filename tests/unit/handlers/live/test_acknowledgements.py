"""Acknowledgements that ShareFetch and ShareAcknowledge share: put together, durable, and mapped when they are not."""

import asyncio
from dataclasses import replace
from typing import ClassVar

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    NotCoordinator,
    StateNotWritten,
    StateRefused,
)
from kproxy.handlers.live.acknowledgements import requested_partitions
from kproxy.share.identifiers import StateEpoch, TopicIdPartition
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause, RecordEnd
from kproxy.statelog.operations import Initialize
from kproxy.wire.messages import share_acknowledge_request as wire
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait

ACCEPT, RELEASE, RENEW = 1, 2, 4


async def a_member_with_records(world: ShareGroupWorld, record_count: int = 10) -> Member:
    await world.initialize()
    world.produce(record_count)
    alice = world.member("alice")
    await alice.open(max_records=record_count)
    return alice


def said_by_alice(acknowledge_type: str, *ranges: tuple[int, int]) -> Actor:
    return Actor(
        *(Cause.ACKNOWLEDGE, "alice", "client", "/127.0.0.1", ranges),
        acknowledge_type=AcknowledgeType[acknowledge_type.upper()],
    )


def test_what_is_said_of_a_partition_in_several_places_is_put_together() -> None:
    # Given
    first = wire.AcknowledgePartition(0, [wire.AcknowledgementBatch(0, 1, [1])])
    other = wire.AcknowledgePartition(3, [])
    second = wire.AcknowledgePartition(0, [wire.AcknowledgementBatch(2, 3, [2, 3])])
    topics = [wire.AcknowledgeTopic(ORDERS, [first, other]), wire.AcknowledgeTopic(ORDERS, [second])]

    # When
    requested = requested_partitions(topics)

    # Then
    assert requested == {
        TopicIdPartition(ORDERS, 0): [
            wire.AcknowledgementBatch(0, 1, [1]),
            wire.AcknowledgementBatch(2, 3, [2, 3]),
        ],
        TopicIdPartition(ORDERS, 3): [],
    }


async def test_a_refused_acknowledgement_never_becomes_durable_by_another_members_write() -> None:
    """The fetch that carried it may wait for records long after its refusal."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    world.produce(5)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=5)
    await bob.open(max_records=5)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        refused = tasks.create_task(alice.fetch(acks={(ORDERS, 0): [(0, 4, [ACCEPT])]}, max_records=0))
        await until_all_wait()
        world.state_log.refuse_held_writes(StateNotWritten("the append was refused"))
        world.state_log.hold_writes = None
        late = await bob.acknowledge({(ORDERS, 0): [(5, 9, [ACCEPT])]})

    # Then
    told = partitions_of(refused.result())[ORDERS, 0]
    assert told.acknowledge_error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert acknowledge_errors(late) == {(ORDERS, 0): ErrorCode.NONE}
    durable = world.state_log.state(world.key())
    assert durable is not None
    assert durable.start_offset == 0
    assert durable.state_batches == (StateBatch(5, 9, RecordState.ACKNOWLEDGED, 1),)


async def test_what_could_not_be_written_is_held_as_before_until_its_lock_ends() -> None:
    """`SharePartition.rollbackOrProcessStateUpdates`; no other fetch can be acquiring it meanwhile."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_with_records(world, 3)
    bob = world.member("bob")
    await bob.open()
    world.state_log.persist_failure = StateRefused("MESSAGE_TOO_LARGE")

    # When
    refused = await alice.acknowledge({(ORDERS, 0): [(0, 2, [ACCEPT])]})
    world.state_log.persist_failure = None

    # Then
    assert acknowledge_errors(refused) == {(ORDERS, 0): ErrorCode.UNKNOWN_SERVER_ERROR}
    assert acquired(await bob.fetch(max_wait_ms=0)) == []
    world.clock.advance(30_000)
    await world.expire()
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 2, 2)]


async def test_what_could_not_be_written_may_be_acknowledged_again() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world, 3)
    world.state_log.persist_failure = StateNotWritten("too late")
    refused = await alice.acknowledge({(ORDERS, 0): [(0, 2, [RELEASE])]})
    world.state_log.persist_failure = None

    # When
    again = await alice.acknowledge({(ORDERS, 0): [(0, 2, [ACCEPT])]})

    # Then
    assert acknowledge_errors(refused) == {(ORDERS, 0): ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert acknowledge_errors(again) == {(ORDERS, 0): ErrorCode.NONE}


async def test_who_accepts_late_what_an_end_of_locks_archived_that_was_refused_has_it_accepted_for_good() -> (
    None
):
    """It stands in the middle of the window then, and no write but the one that passes it tells of it."""
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.configure("share.delivery.count.limit", "2")
    for _ in range(3):
        world.produce(1)
    alice = world.member("alice")
    await alice.open(max_records=3)
    await alice.acknowledge({(ORDERS, 0): [(0, 2, [RELEASE])]})
    await alice.fetch(max_wait_ms=0, max_records=3)
    world.clock.advance(20_000)
    await alice.acknowledge({(ORDERS, 0): [(0, 0, [RENEW])]}, is_renew_ack=True)
    world.clock.advance(11_000)
    world.state_log.persist_failure = StateNotWritten("broker 1 is down")
    await world.expire()
    world.state_log.persist_failure = None
    await alice.acknowledge({(ORDERS, 0): [(0, 0, [ACCEPT])]})

    # When
    late = await alice.acknowledge({(ORDERS, 0): [(1, 2, [ACCEPT])]})

    # Then
    assert acknowledge_errors(late) == {(ORDERS, 0): ErrorCode.NONE}
    world.restart()
    bob = world.member("bob")
    await bob.open()
    assert acquired(await bob.fetch(max_wait_ms=0)) == []


async def test_an_acknowledgement_of_what_is_durably_done_with_writes_nothing() -> None:
    """Else whoever repeats it makes the state log grow, header by header."""
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})
    written = len(world.state_log.deltas)

    # When
    again = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(again) == {(ORDERS, 0): ErrorCode.NONE}
    assert len(world.state_log.deltas) == written


async def test_an_acknowledgement_is_answered_when_it_is_durable_and_not_before() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]}))
        await until_all_wait()
        is_answered = answer.done()
        world.state_log.hold_writes.set()

    # Then
    assert not is_answered
    assert acknowledge_errors(answer.result()) == {(ORDERS, 0): ErrorCode.NONE}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_a_failed_write_discards_the_share_partition_and_is_told_in_clients_terms(
    failure: ErrorCode, told: ErrorCode
) -> None:
    # Given
    class Refusal(ApiError):
        error_code: ClassVar[ErrorCode] = failure

    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.state_log.persist_failure = Refusal("no")

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): told}
    assert world.groups.share_partition_count == 0


async def test_a_fenced_write_names_the_leader_also_when_it_rode_on_a_fetch() -> None:
    # Given
    class Fenced(ApiError):
        error_code = ErrorCode.FENCED_STATE_EPOCH

    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.state_log.persist_failure = Fenced("state epoch 1 is behind 2")

    # When
    answer = await alice.fetch(acks={(ORDERS, 0): [(0, 9, [ACCEPT])]}, max_wait_ms=0)

    # Then
    data = partitions_of(answer)[ORDERS, 0]
    assert data.acknowledge_error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert data.current_leader.leader_id == 1
    assert [point.node_id for point in answer.node_endpoints] == [1]


async def test_the_state_log_is_told_the_start_from_before_and_the_count_that_belongs_to_it() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)

    # When
    await alice.acknowledge({(ORDERS, 0): [(0, 3, [ACCEPT]), (6, 7, [ACCEPT])]})

    # Then
    [(key, delta)] = world.state_log.deltas
    assert key == world.key()
    assert (delta.start_offset, delta.delivery_complete_count) == (0, 6)
    assert [(batch.first_offset, batch.last_offset) for batch in delta.batches] == [(0, 3), (6, 7)]


async def test_accepting_records_wakes_nobody_who_could_not_use_it() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.availability.signalled.clear()

    # When
    await alice.acknowledge({(ORDERS, 0): [(0, 4, [ACCEPT])]})
    after_accepting = list(world.availability.signalled)
    await alice.acknowledge({(ORDERS, 0): [(5, 9, [RELEASE])]})

    # Then
    assert after_accepting == []
    assert world.availability.signalled == [world.key()]


async def test_acknowledging_what_the_log_has_lost_succeeds() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.produce(5)
    world.log().move_start(10)
    await alice.acknowledge({(ORDERS, 0): [(0, 0, [RELEASE])]})
    assert acquired(await alice.fetch()) == [(10, 14, 1)]

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(1, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_a_request_that_is_cut_short_leaves_doubt_and_the_share_partition_is_discarded() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]}))
        await until_all_wait()
        answer.cancel()

    # Then
    assert answer.cancelled()
    assert world.groups.share_partition_count == 0


async def test_a_write_names_its_member_the_types_and_the_epochs_that_were_loaded() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)

    # When
    await alice.acknowledge({(ORDERS, 0): [(0, 4, [ACCEPT]), (5, 9, [RELEASE])]})

    # Then
    state = world.state_log.state(world.key())
    assert world.state_log.actors == [(said_by_alice("accept", (0, 4)), said_by_alice("release", (5, 9)))]
    assert state is not None
    assert (state.state_epoch, state.leader_epoch) == (1, 1)


async def test_a_record_that_is_released_for_the_last_time_was_not_rejected() -> None:
    """Five times is the default of `share.delivery.count.limit`."""
    # Given
    world = ShareGroupWorld()
    world.produce(1)
    await world.initialize()
    alice = world.member()
    await alice.open()

    # When
    for _ in range(5):
        await alice.fetch()
        await alice.acknowledge({(ORDERS, 0): [(0, 0, [RELEASE])]})

    # Then
    released = said_by_alice("release", (0, 0))
    given_up = replace(released, is_at_delivery_limit=True)
    assert world.state_log.actors == [(released,)] * 4 + [(given_up,)]
    assert given_up.end is RecordEnd.DELIVERY_LIMIT


async def test_a_share_partition_that_was_initialized_anew_takes_no_write_of_before() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.state_log.memory.run(Initialize(world.key(), StateEpoch(2), 0))

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    state = world.state_log.state(world.key())
    assert acknowledge_errors(answer)[ORDERS, 0] != ErrorCode.NONE
    assert world.groups.share_partition_count == 0
    assert state is not None
    assert state.state_batches == ()


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (NotCoordinator("moved"), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (CoordinatorLoadInProgress("replaying"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
    ids=["moved", "loading"],
)
async def test_an_acknowledgement_for_a_slot_that_is_not_here_says_why(
    refusal: ApiError, told: ErrorCode
) -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.group_log.unreadiness = refusal
    world.discard([world.key()])

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): told}
