"""ShareAcknowledge: sessions, what a member may say of its records, and what each answer means."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.ports import PartitionLeader
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from tests.worlds.share_group_world import (
    NO_SUCH_TOPIC,
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


async def a_member_with_records(world: ShareGroupWorld, record_count: int = 10) -> Member:
    await world.initialize()
    world.produce(record_count)
    alice = world.member("alice")
    answer = await alice.open(max_records=record_count)
    assert acquired(answer) == [(0, record_count - 1, 1)]
    return alice


# ---- sessions


async def test_a_session_remembers_when_its_last_request_came_or_its_last_fetch_was_over() -> None:
    # Given
    world = await world_with_orders()
    alice = world.member()
    await alice.fetch(add=((ORDERS, 0),))
    (session,) = world.groups.sessions.sessions()
    seen = [session.last_used_ms]

    # When
    world.clock.advance(700)
    await alice.fetch()
    seen.append(session.last_used_ms)
    world.clock.advance(300)
    await alice.acknowledge({(ORDERS, 0): []})
    seen.append(session.last_used_ms)

    # Then
    assert seen == [1_500, 2_700, 3_000], "each fetch waits for 500 ms"


async def test_a_session_knows_while_a_fetch_waits() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    alice = world.member()
    await alice.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch())
        await until_all_wait()
        (session,) = world.groups.sessions.sessions()
        while_it_waits = session.fetch_count
        world.produce(1)

    # Then
    assert (while_it_waits, session.fetch_count) == (1, 0)


async def test_it_cannot_open_a_session() -> None:
    # Given
    alice = await a_member_with_records(ShareGroupWorld())

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]}, epoch=0)

    # Then
    assert answer.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert answer.responses == []


@pytest.mark.parametrize("epoch", [1, -1])
async def test_without_a_session_there_is_nothing_to_acknowledge(epoch: int) -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.member().acknowledge(epoch=epoch)

    # Then
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_it_counts_in_the_same_session_as_a_fetch() -> None:
    # Given
    alice = await a_member_with_records(ShareGroupWorld())

    # When
    codes = [
        (await alice.acknowledge({(ORDERS, 0): [(0, 3, [ACCEPT])]}, epoch=1)).error_code,
        (await alice.fetch(epoch=2, max_wait_ms=0)).error_code,
        (await alice.acknowledge({(ORDERS, 0): [(4, 9, [ACCEPT])]}, epoch=2)).error_code,
        (await alice.acknowledge({(ORDERS, 0): [(4, 9, [ACCEPT])]}, epoch=3)).error_code,
    ]

    # Then
    assert codes == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.NONE,
    ]


async def test_the_last_request_of_a_session_releases_what_it_does_not_acknowledge() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    bob = world.member("bob")
    await bob.open()

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 3, [ACCEPT])]}, epoch=-1)

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}
    assert acquired(await bob.fetch()) == [(4, 9, 2)]


@pytest.mark.parametrize(
    ("group_id", "member_id"), [(None, "alice"), ("g", ""), ("g", "m" * 37), ("g", None)]
)
async def test_a_request_without_a_group_or_a_usable_member_id_is_refused(
    group_id: str | None, member_id: str | None
) -> None:
    # Given
    world = ShareGroupWorld()
    request = ShareAcknowledgeRequest(group_id=group_id, member_id=member_id, share_session_epoch=1)

    # When
    answer = await world.serve(request, ApiKey.SHARE_ACKNOWLEDGE, 2)

    # Then
    assert isinstance(answer, ShareAcknowledgeResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


# ---- what becomes of records


async def test_accepted_records_are_done_with_and_stay_so_after_a_restart() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}
    world.groups.directory.discard(world.key())
    assert acquired(await alice.fetch(max_wait_ms=0)) == []


async def test_every_offset_may_have_a_type_of_its_own() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world, record_count=4)

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 3, [ACCEPT, RELEASE, REJECT, GAP])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}
    assert acquired(await alice.fetch()) == [(1, 1, 2)]
    counted = {labels: amount for labels, amount in world.observer.counts.items() if "share_a" in labels[0]}
    assert counted == {
        ("share_acknowledgements", "accept"): 1,
        ("share_acknowledgements", "release"): 1,
        ("share_acknowledgements", "reject"): 1,
        ("share_acknowledgements", "gap"): 1,
        ("share_archived", "rejected"): 1,
        ("share_archived", "gap"): 1,
    }


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([(0, 2, [ACCEPT, ACCEPT])], id="types_for_two_of_three_offsets"),
        pytest.param([(0, 2, [])], id="no_types"),
        pytest.param([(3, 1, [ACCEPT])], id="reversed"),
        pytest.param([(4, 5, [ACCEPT]), (0, 1, [ACCEPT])], id="descending"),
        pytest.param([(0, 4, [ACCEPT]), (3, 5, [ACCEPT])], id="overlapping"),
        pytest.param([(0, 0, [5])], id="unknown_type"),
        pytest.param([(0, 0, [-1])], id="negative_type"),
        pytest.param([(0, 0, [RENEW])], id="renewal_without_the_flag"),
        pytest.param([(0, 10, [ACCEPT])], id="beyond_what_was_acquired"),
    ],
)
async def test_what_contradicts_itself_is_refused_for_its_partition(
    batches: list[tuple[int, int, list[int]]],
) -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)

    # When
    answer = await alice.acknowledge({(ORDERS, 0): batches})

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_REQUEST}
    assert world.state_log.deltas == []
    assert world.observer.reasons == ["invalid_request"]


async def test_version_1_knows_no_renewal() -> None:
    # Given
    alice = await a_member_with_records(ShareGroupWorld())
    alice.version = 1

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [RENEW])]}, is_renew_ack=True)

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_REQUEST}


async def test_a_renewal_tells_the_lock_duration_and_keeps_the_delivery_count() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.clock.advance(20_000)

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [RENEW])]}, is_renew_ack=True)

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}
    assert answer.acquisition_lock_timeout_ms == 30_000
    assert world.state_log.deltas == []
    world.clock.advance(30_000)
    await world.expire()
    assert acquired(await alice.fetch()) == [(0, 9, 2)]


async def test_a_renewal_may_make_a_lock_shorter_when_the_group_was_configured_so() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.configure("share.record.lock.duration.ms", "15000")
    world.clock.advance(1_000)

    # When
    await alice.acknowledge({(ORDERS, 0): [(0, 9, [RENEW])]}, is_renew_ack=True)

    # Then
    assert world.groups.next_deadline_ms() == 17_000
    assert world.alarm.deadlines_ms == [31_000, 17_000]


async def test_another_member_cannot_settle_a_record() -> None:
    # Given
    world = ShareGroupWorld()
    await a_member_with_records(world)
    bob = world.member("bob")
    await bob.open()

    # When
    answer = await bob.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_RECORD_STATE}
    assert world.observer.reasons == ["invalid_record_state"]
    assert "held by another member" in world.observer.refusals[0][1]


async def test_a_record_is_settled_once() -> None:
    # Given
    alice = await a_member_with_records(ShareGroupWorld())
    await alice.acknowledge({(ORDERS, 0): [(3, 3, [ACCEPT])]})

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(3, 3, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_RECORD_STATE}


async def test_an_acknowledgement_comes_too_late_once_the_lock_has_ended() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.clock.advance(30_000)
    await world.expire()

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.INVALID_RECORD_STATE}


async def test_one_bad_offset_takes_the_partition_with_it_and_leaves_the_others_alone() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    await world.initialize(partition=1)
    world.produce(5, partition=1)
    alice = await a_member_with_records(world)
    await alice.fetch(add=[(ORDERS, 1)])

    # When
    answer = await alice.acknowledge(
        {(ORDERS, 0): [(0, 4, [ACCEPT]), (8, 12, [ACCEPT])], (ORDERS, 1): [(0, 4, [ACCEPT])]}
    )

    # Then
    assert acknowledge_errors(answer) == {
        (ORDERS, 0): ErrorCode.INVALID_REQUEST,
        (ORDERS, 1): ErrorCode.NONE,
    }
    assert [key.partition for key, _ in world.state_log.deltas] == [1]


# ---- where, and whether at all


async def test_acknowledgements_are_honoured_after_the_leader_moved() -> None:
    # Given
    world = ShareGroupWorld(node_ids=(1, 2))
    alice = await a_member_with_records(world)
    world.metadata.move_leader(ORDERS, 0, PartitionLeader(leader_id=2, leader_epoch=1))

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_partitions_that_do_not_exist_or_are_not_loaded_are_told_so() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.groups.directory.discard(world.key())

    # When
    answer = await alice.acknowledge(
        {
            (ORDERS, 0): [(0, 9, [ACCEPT])],
            (ORDERS, 7): [(0, 9, [ACCEPT])],
            (NO_SUCH_TOPIC, 0): [(0, 9, [ACCEPT])],
        }
    )

    # Then
    assert acknowledge_errors(answer) == {
        (ORDERS, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (ORDERS, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (NO_SUCH_TOPIC, 0): ErrorCode.UNKNOWN_TOPIC_ID,
    }


async def test_a_partition_of_which_nothing_is_said_is_answered_beside_others_but_not_alone() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    alice = await a_member_with_records(world)

    # When
    beside = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])], (ORDERS, 1): []})
    alone = await alice.acknowledge({(ORDERS, 1): []})

    # Then
    assert acknowledge_errors(beside) == {(ORDERS, 0): ErrorCode.NONE, (ORDERS, 1): ErrorCode.NONE}
    assert acknowledge_errors(alone) == {}


async def test_what_the_state_log_refuses_is_told_and_delivered_again() -> None:
    # Given
    world = ShareGroupWorld()
    alice = await a_member_with_records(world)
    world.state_log.persist_failure = StateLogUnavailable("no quorum")

    # When
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [ACCEPT])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert world.groups.directory.find(world.key()) is None
    assert acquired(await alice.fetch()) == [(0, 9, 1)]
