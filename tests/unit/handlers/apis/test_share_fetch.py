"""ShareFetch: sessions, what an answer names, renewals, and where a client is sent."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.share_session import ShareSessionLimits
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_fetch_request import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.worlds.share_group_world import (
    NO_SUCH_TOPIC,
    ORDERS,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

BOTH = ((ORDERS, 0), (ORDERS, 1))


# ---- sessions


async def test_the_request_after_the_one_that_opened_the_session_carries_epoch_1() -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    alice = world.member()
    await alice.fetch(add=BOTH)

    # When
    answer = await alice.fetch(epoch=1)

    # Then
    assert answer.error_code == ErrorCode.NONE


async def test_a_request_that_opens_a_session_cannot_acknowledge() -> None:
    # Given
    world = await world_with_orders(partition_count=2)

    # When
    answer = await world.member().fetch(acks={(ORDERS, 0): [(0, 0, [1])]})

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.acquisition_lock_timeout_ms == 0
    assert answer.responses == []


@pytest.mark.parametrize("epoch", [1, 3, 2_147_483_647, -2])
async def test_an_epoch_that_is_not_the_next_one_is_refused_and_changes_nothing(epoch: int) -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    alice = world.member()
    await alice.open((ORDERS, 0))
    await alice.fetch()

    # When
    answer = await alice.fetch(epoch=epoch)

    # Then
    assert answer.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert (await alice.fetch(epoch=2)).error_code == ErrorCode.NONE


@pytest.mark.parametrize("epoch", [1, -1])
async def test_without_a_session_there_is_nothing_to_go_on_with(epoch: int) -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.member().fetch(epoch=epoch)

    # Then
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_a_full_cache_refuses_another_session_when_the_wait_is_over() -> None:
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(sessions=ShareSessionLimits(max_share_sessions=1)))
    await world.initialize()
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()

    # When
    answer = await bob.open(max_wait_ms=500)

    # Then
    assert answer.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert world.clock.now_ms() == 1_500
    assert "share_session_limit_reached" in world.observer.reasons


async def test_a_session_that_closes_makes_room_for_another() -> None:
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(sessions=ShareSessionLimits(max_share_sessions=1)))
    await world.initialize()
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await alice.fetch(epoch=-1)

    # When
    answer = await bob.open()

    # Then
    assert answer.error_code == ErrorCode.NONE


async def test_what_a_member_acquired_stays_locked_when_it_opens_its_session_again() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(10)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=10)
    await bob.open()

    # When
    await alice.open()

    # Then
    assert acquired(await bob.fetch()) == []
    answer = await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_the_last_request_acknowledges_releases_the_rest_and_returns_no_records() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(10)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=10)
    await bob.open()
    world.produce(10)

    # When
    answer = await alice.fetch(acks={(ORDERS, 0): [(0, 3, [1])]}, epoch=-1)

    # Then
    assert acquired(answer) == []
    assert partitions_of(answer)[ORDERS, 0].acknowledge_error_code == ErrorCode.NONE
    assert acquired(await bob.fetch()) == [(4, 9, 2), (10, 19, 1)]
    assert (await alice.fetch(epoch=2)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_a_session_belongs_to_the_port_it_was_opened_on() -> None:
    # Given
    world = ShareGroupWorld(node_ids=(1, 2))
    await world.initialize()
    alice = world.member(node_id=1)
    await alice.open()

    # When
    alice.node_id = 2
    answer = await alice.fetch(epoch=1)

    # Then
    assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_a_forgotten_partition_is_not_fetched_but_its_records_can_be_acknowledged() -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    world.produce(5)
    alice = world.member()
    await alice.open((ORDERS, 0), max_records=5)
    world.produce(5)

    # When
    answer = await alice.fetch(forget=[(ORDERS, 0)], acks={(ORDERS, 0): [(0, 4, [1])]})

    # Then
    assert acquired(answer) == []
    assert partitions_of(answer)[ORDERS, 0].acknowledge_error_code == ErrorCode.NONE
    assert partitions_of(await alice.fetch()) == {}


async def test_a_topic_that_is_named_twice_counts_as_named_once() -> None:
    """So librdkafka does when its list of partitions is not sorted."""
    # Given
    world = await world_with_orders(partition_count=2)
    world.produce(4)
    alice = world.member()
    await alice.open(*BOTH, max_records=4)
    request = ShareFetchRequest(
        group_id="g",
        member_id="alice",
        share_session_epoch=1,
        max_wait_ms=0,
        max_records=0,
        topics=[
            FetchTopic(ORDERS, [FetchPartition(0, 0, [AcknowledgementBatch(0, 1, [1])])]),
            FetchTopic(ORDERS, [FetchPartition(1)]),
            FetchTopic(ORDERS, [FetchPartition(0, 0, [AcknowledgementBatch(2, 3, [1])])]),
        ],
    )

    # When
    answer = await world.serve(request, ApiKey.SHARE_FETCH, 1, connection_id=alice.connection_id)

    # Then
    assert isinstance(answer, ShareFetchResponse)
    assert partitions_of(answer)[ORDERS, 0].acknowledge_error_code == ErrorCode.NONE
    live = world.groups.directory.find(world.key())
    assert live is not None
    assert live.start_offset == 4


@pytest.mark.parametrize("member_id", ["", "m" * 37, None])
async def test_a_member_id_has_1_to_36_characters(member_id: str | None) -> None:
    # Given
    world = ShareGroupWorld()
    request = ShareFetchRequest(group_id="g", member_id=member_id)

    # When
    answer = await world.serve(request, ApiKey.SHARE_FETCH, 2)

    # Then
    assert isinstance(answer, ShareFetchResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_a_request_without_a_group_id_is_refused() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.serve(ShareFetchRequest(group_id=None, member_id="a"), ApiKey.SHARE_FETCH, 2)

    # Then
    assert isinstance(answer, ShareFetchResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


# ---- locks and modes


async def test_the_lock_duration_of_the_group_is_told_with_every_answer() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    alice = world.member()
    before = await alice.open()

    # When
    world.configure("share.record.lock.duration.ms", "15000")
    after = await alice.fetch()

    # Then
    assert before.acquisition_lock_timeout_ms == 30_000
    assert after.acquisition_lock_timeout_ms == 15_000


async def test_the_record_limit_mode_acquires_exactly_what_was_asked_for() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(10)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()

    # When
    first = await alice.fetch(max_records=5, mode=1)
    second = await bob.fetch(max_records=5, mode=1)

    # Then
    assert acquired(first) == [(0, 4, 1)]
    assert acquired(second) == [(5, 9, 1)]


async def test_the_other_mode_takes_a_record_batch_to_its_end() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(10)
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch(max_records=5)

    # Then
    assert acquired(answer) == [(0, 9, 1)]


async def test_a_renewal_asks_for_no_records() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch(is_renew_ack=True, max_wait_ms=0, min_bytes=0, max_bytes=0, max_records=1)

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message is not None
    assert answer.error_message.endswith("MaxRecords")


async def test_a_renewal_looks_at_nothing_but_its_acknowledgements() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    alice = world.member()
    await alice.open((ORDERS, 0), (NO_SUCH_TOPIC, 0))

    # When
    answer = await alice.fetch(is_renew_ack=True, max_wait_ms=0, min_bytes=0, max_bytes=0, max_records=0)

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert answer.responses == []


async def test_a_renewed_lock_lasts_one_duration_from_the_renewal() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    world.produce(5)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=5)
    await bob.open()
    world.clock.advance(24_000)
    await alice.fetch(
        acks={(ORDERS, 0): [(0, 4, [4])]},
        is_renew_ack=True,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=0,
        max_records=0,
    )
    world.clock.advance(7_000)
    await world.expire()
    at_the_first_deadline = acquired(await bob.fetch(max_wait_ms=0))

    # When
    world.clock.advance(24_000)
    await world.expire()

    # Then
    assert at_the_first_deadline == []
    assert acquired(await bob.fetch(max_wait_ms=0)) == [(0, 4, 2)]


# ---- acknowledgements along the way


async def test_the_answer_waits_for_both_the_records_and_the_state_log() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.produce(5)
    alice = world.member()
    await alice.open(max_records=5)
    world.produce(5)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(acks={(ORDERS, 0): [(0, 4, [1])]}))
        await until_all_wait()
        reads_while_waiting, is_answered = len(world.reader.reads), fetch.done()
        world.state_log.hold_writes.set()

    # Then
    assert reads_while_waiting == 2
    assert not is_answered
    assert acquired(fetch.result()) == [(5, 9, 1)]


async def test_no_more_partitions_are_forgotten_than_a_session_may_have() -> None:
    """A request of eight megabytes has room for two million."""
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(sessions=ShareSessionLimits(max_session_partitions=2)))
    alice = world.member()
    await alice.fetch(add=BOTH)

    # When
    refused = await alice.fetch(forget=[(ORDERS, 0), (ORDERS, 1), (ORDERS, 0)])
    served = await alice.fetch(forget=BOTH)

    # Then
    assert [refused.error_code, served.error_code] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
