"""How much one client may ask a session to look at: one request must not hold up everybody else."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRequest, ShareSessionLimitReached
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.share.share_session import (
    ShareSession,
    ShareSessionCache,
    ShareSessionKey,
    ShareSessionLimits,
)
from tests.worlds.share_builders import ALICE, BOB, ORDERS, OTHER_TOPIC, TOPIC, partitions_of
from tests.worlds.share_group_world import (
    NO_SUCH_TOPIC,
    ShareGroupWorld,
    acquired,
)
from tests.worlds.share_group_world import (
    ORDERS as ORDERS_TOPIC,
)
from tests.worlds.waiting import until_all_wait

P0, P1, P2 = partitions_of(TOPIC, [0, 1, 2])


def opened(cache: ShareSessionCache, *partitions: TopicIdPartition) -> ShareSession:
    key = ShareSessionKey(1, ORDERS, ALICE)
    return cache.open(key, connection_id=7, partitions=partitions, has_acknowledgements=False)


def a_bounded_cache() -> ShareSessionCache:
    return ShareSessionCache(ShareSessionLimits(10, max_session_partitions=3, max_partitions=5))


def test_a_session_has_no_more_partitions_than_the_operator_allows() -> None:
    # Given
    cache = a_bounded_cache()
    session = opened(cache, P0, P1)

    # When
    with pytest.raises(InvalidRequest, match="4 partitions, at most 3"):
        cache.advance(
            session.key, session.next_epoch, added=partitions_of(OTHER_TOPIC, range(2)), forgotten=()
        )

    # Then
    assert session.partitions == (P0, P1)
    assert session.next_epoch == 1


def test_what_a_session_has_already_is_not_counted_again() -> None:
    # Given
    cache = a_bounded_cache()
    session = opened(cache, P0, P1, P2)

    # When
    cache.advance(session.key, session.next_epoch, added=[P0, P2], forgotten=[P1])

    # Then
    assert cache.partition_count == 2


def test_all_sessions_together_have_no_more_partitions_than_the_operator_allows() -> None:
    # Given
    cache = a_bounded_cache()
    opened(cache, P0, P1, P2)
    other = ShareSessionKey(1, ORDERS, BOB)
    wanted = partitions_of(OTHER_TOPIC, range(3))

    # When
    with pytest.raises(ShareSessionLimitReached, match="6 partitions together, at most 5"):
        cache.open(other, connection_id=2, partitions=wanted, has_acknowledgements=False)

    # Then
    cache.open(other, connection_id=2, partitions=wanted[:2], has_acknowledgements=False)
    assert cache.partition_count == 5


def test_partitions_of_sessions_that_end_make_room_again() -> None:
    # Given
    cache = a_bounded_cache()
    session = opened(cache, P0, P1, P2)

    # When
    cache.close(session)

    # Then
    assert cache.partition_count == 0


async def test_a_fetch_that_opens_a_session_on_too_many_partitions_is_refused_as_one_event() -> None:
    # Given
    limits = ShareGroupLimits(sessions=ShareSessionLimits(max_session_partitions=100))
    world = ShareGroupWorld(limits=limits)

    # When
    answer = await world.member().fetch(add=[(NO_SUCH_TOPIC, partition) for partition in range(101)])

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "101 partitions, at most 100" in (answer.error_message or "")
    assert world.observer.reasons == ["invalid_request"]
    assert world.groups.session_count == 0


async def test_partitions_that_do_not_exist_are_one_event_a_request() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    await world.member().fetch(add=[(NO_SUCH_TOPIC, partition) for partition in range(1_000)], max_wait_ms=0)

    # Then
    assert world.observer.reasons == ["unknown_topic_id"]


async def test_a_topic_that_did_not_exist_is_fetched_in_the_same_session_as_soon_as_it_does() -> None:
    """So its partitions stay in the session, as in a broker's: the client takes them for part of it."""
    # Given
    world = ShareGroupWorld()
    await world.initialize(topic_id=NO_SUCH_TOPIC)
    alice = world.member()
    await alice.fetch(add=[(NO_SUCH_TOPIC, 0)], max_wait_ms=0)
    world.metadata.create_topic("late", NO_SUCH_TOPIC, partition_count=1)
    world.produce(3, topic_id=NO_SUCH_TOPIC)

    # When
    answer = await alice.fetch()

    # Then
    assert world.observer.reasons == ["unknown_topic_id"], "of the fetch before"
    assert acquired(answer, topic_id=NO_SUCH_TOPIC) == [(0, 2, 1)]


async def test_an_acknowledgement_of_too_many_partitions_is_refused_as_a_whole() -> None:
    # Given
    limits = ShareGroupLimits(sessions=ShareSessionLimits(max_session_partitions=100))
    world = ShareGroupWorld(limits=limits)
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.acknowledge({(NO_SUCH_TOPIC, partition): [(0, 0, [1])] for partition in range(101)})

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_topics_that_nobody_has_heard_of_are_asked_for_together() -> None:
    # Given
    world = ShareGroupWorld()
    unknown = [TopicId(number.to_bytes(16, "big")) for number in range(500)]

    # When
    await world.member().fetch(add=[(topic_id, 0) for topic_id in unknown], max_wait_ms=0)

    # Then
    assert world.metadata.look_up_count == 1


async def test_no_fetch_waits_longer_than_a_minute_whatever_it_asks_for() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    began_ms = world.clock.now_ms()

    # When
    await world.member().fetch(add=[(ORDERS_TOPIC, 0)], max_wait_ms=2**31 - 1)

    # Then
    assert world.clock.now_ms() - began_ms == 60_000


async def test_a_fetch_whose_session_is_replaced_ends_at_once() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    alice = world.member()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(add=[(ORDERS_TOPIC, 0)], max_wait_ms=60_000))
        await until_all_wait()
        await world.member("alice").open()
        await until_all_wait()
        was_done = fetch.done()
        world.clock.advance(60_000)

    # Then
    assert was_done


async def test_a_member_subscribes_to_no_more_topics_than_the_cluster_may_be_asked_about() -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.member().heartbeat(0, [f"topic-{number}" for number in range(10_001)])

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "10001 topics subscribed, expected 10000 at most" in (answer.error_message or "")
