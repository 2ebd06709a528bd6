"""How much one client may ask a session to look at: one request must not hold up everybody else."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRequest, ShareSessionLimitReached
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import TopicIdPartition
from kproxy.share.share_session import (
    ShareSession,
    ShareSessionCache,
    ShareSessionKey,
    ShareSessionLimits,
)
from tests.unit.handlers.share_group_world import NO_SUCH_TOPIC, ShareGroupWorld
from tests.unit.share.builders import ALICE, BOB, ORDERS, OTHER_TOPIC, TOPIC, partitions_of

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
