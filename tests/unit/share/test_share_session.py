"""Share sessions: conformance cases 1 to 20 as far as no request is needed to state them."""

from collections.abc import Callable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)
from kproxy.share.identifiers import GroupId, ShareSessionEpoch, TopicIdPartition
from kproxy.share.share_session import (
    ShareSession,
    ShareSessionCache,
    ShareSessionKey,
    ShareSessionLimits,
    next_share_session_epoch,
)
from tests.worlds.share_builders import ALICE, BOB, ORDERS, TOPIC, partitions_of

OF_ALICE = ShareSessionKey(node_id=1, group_id=ORDERS, member_id=ALICE)
OF_BOB = ShareSessionKey(node_id=1, group_id=ORDERS, member_id=BOB)
P0, P1, P2 = partitions_of(TOPIC, [0, 1, 2])


def a_cache(max_share_sessions: int = 2_000) -> ShareSessionCache:
    return ShareSessionCache(ShareSessionLimits(max_share_sessions=max_share_sessions))


def opened(
    cache: ShareSessionCache,
    *partitions: TopicIdPartition,
    key: ShareSessionKey = OF_ALICE,
    connection_id: int = 7,
) -> ShareSession:
    return cache.open(key, connection_id=connection_id, partitions=partitions, has_acknowledgements=False)


def advance(
    cache: ShareSessionCache,
    share_session_epoch: int,
    *,
    added: tuple[TopicIdPartition, ...] = (),
    forgotten: tuple[TopicIdPartition, ...] = (),
) -> ShareSession:
    return cache.advance(OF_ALICE, ShareSessionEpoch(share_session_epoch), added=added, forgotten=forgotten)


def test_a_new_session_holds_its_partitions_and_expects_epoch_1() -> None:
    # When
    session = opened(a_cache(), P1, P0, P1)

    # Then
    assert session.partitions == (P1, P0)
    assert session.next_epoch == 1


def test_a_fetch_that_opens_a_session_cannot_acknowledge() -> None:
    # Given
    cache = a_cache()

    # When
    with pytest.raises(InvalidRequest) as refusal:
        cache.open(OF_ALICE, connection_id=7, partitions=[P0], has_acknowledgements=True)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST
    assert len(cache) == 0


def test_a_wrong_epoch_is_refused_and_changes_nothing() -> None:
    # Given
    cache = a_cache()
    session = opened(cache, P0)
    advance(cache, 1)

    # When
    with pytest.raises(InvalidShareSessionEpoch, match="epoch 1, expected 2") as refusal:
        advance(cache, 1, added=(P1,))

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert (session.partitions, session.next_epoch) == ((P0,), 2)


def test_without_a_session_no_epoch_but_0_is_possible() -> None:
    # Given
    cache = a_cache()
    attempts: list[Callable[[], object]] = [
        lambda: advance(cache, 1),
        lambda: cache.acknowledge(OF_ALICE, ShareSessionEpoch(1)),
        lambda: cache.find(OF_ALICE),
    ]

    # When
    refusals: list[ApiError] = []
    for attempt in attempts:
        with pytest.raises(ShareSessionNotFound) as refusal:
            attempt()
        refusals.append(refusal.value)

    # Then
    assert [refusal.error_code for refusal in refusals] == [ErrorCode.SHARE_SESSION_NOT_FOUND] * 3


def test_an_acknowledgement_cannot_open_a_session() -> None:
    # Given
    cache = a_cache()
    opened(cache, P0)

    # When
    with pytest.raises(InvalidShareSessionEpoch) as refusal:
        cache.acknowledge(OF_ALICE, ShareSessionEpoch(0))

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_fetches_and_acknowledgements_share_one_counter() -> None:
    # Given
    cache = a_cache()
    opened(cache, P0)

    # When
    advance(cache, 1)
    cache.acknowledge(OF_ALICE, ShareSessionEpoch(2))
    session = advance(cache, 3)

    # Then
    assert session.next_epoch == 4


def test_the_highest_epoch_is_followed_by_1() -> None:
    assert next_share_session_epoch(ShareSessionEpoch(2_147_483_646)) == 2_147_483_647
    assert next_share_session_epoch(ShareSessionEpoch(2_147_483_647)) == 1


def test_a_full_cache_refuses_until_a_session_closes() -> None:
    # Given
    cache = a_cache(max_share_sessions=1)
    of_alice = opened(cache, P0)
    with pytest.raises(ShareSessionLimitReached) as refusal:
        opened(cache, P0, key=OF_BOB)

    # When
    cache.close(of_alice)
    of_bob = opened(cache, P0, key=OF_BOB)

    # Then
    assert refusal.value.error_code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert cache.sessions() == (of_bob,)


def test_a_full_cache_still_lets_a_member_replace_its_own_session() -> None:
    # Given
    cache = a_cache(max_share_sessions=1)
    old = opened(cache, P0)
    advance(cache, 1)

    # When
    new = opened(cache, P1)

    # Then
    assert new is not old
    assert (new.partitions, new.next_epoch) == ((P1,), 1)


def test_one_member_has_a_session_on_each_broker() -> None:
    # Given
    cache = a_cache()
    opened(cache, P0)

    # When
    opened(cache, P1, key=ShareSessionKey(node_id=2, group_id=ORDERS, member_id=ALICE))

    # Then
    assert [session.partitions for session in cache.sessions()] == [(P0,), (P1,)]
    assert cache.partition_count == 2


def test_a_closed_connection_takes_its_sessions_with_it() -> None:
    # Given
    cache = a_cache()
    of_alice = opened(cache, P0, connection_id=7)
    of_bob = opened(cache, P0, key=OF_BOB, connection_id=8)

    # When
    evicted = cache.evict_connection(7)

    # Then
    assert evicted == (of_alice,)
    assert cache.sessions() == (of_bob,)
    assert cache.evict_connection(7) == ()


def test_a_group_has_sessions_until_its_last_one_is_gone() -> None:
    # Given
    cache = a_cache()
    opened(cache, P0, connection_id=7)
    opened(cache, P0, connection_id=7)
    of_bob = opened(cache, P0, key=OF_BOB, connection_id=8)
    group_id = of_bob.key.group_id

    # When
    cache.evict_connection(7)
    had_sessions = cache.group_has_sessions(group_id)
    cache.close(of_bob)

    # Then
    assert had_sessions
    assert not cache.group_has_sessions(group_id)


def test_a_group_that_is_no_more_takes_its_sessions_with_it() -> None:
    # Given
    cache = a_cache()
    of_alice, of_bob = opened(cache, P0, connection_id=7), opened(cache, P0, key=OF_BOB, connection_id=8)
    group_id = of_bob.key.group_id

    # When
    closed = [cache.close_group(group_id) for _ in range(2)]

    # Then
    assert closed == [(of_alice, of_bob), ()]
    assert cache.sessions() == ()
    assert cache.evict_connection(7) == ()
    assert cache.partition_count == 0


def test_a_session_opened_again_elsewhere_survives_the_end_of_its_old_connection() -> None:
    # Given
    cache = a_cache()
    opened(cache, P0, connection_id=7)
    session = opened(cache, P0, connection_id=8)

    # When
    evicted = cache.evict_connection(7)

    # Then
    assert evicted == ()
    assert cache.sessions() == (session,)


def test_all_sessions_of_a_group_have_one_text_for_its_id() -> None:
    """It may have 32 kB, and each request brings one of its own."""
    # Given
    cache = a_cache()
    texts = [GroupId(b"g".decode() * 1_000) for _ in range(3)]

    # When
    sessions = [
        opened(cache, P0, key=ShareSessionKey(node_id, text, ALICE)) for node_id, text in enumerate(texts)
    ]

    # Then
    assert len({id(text) for text in texts}) == 3
    assert len({id(session.key.group_id) for session in sessions}) == 1


def test_closing_a_session_that_was_replaced_leaves_the_new_one() -> None:
    # Given
    cache = a_cache()
    old = opened(cache, P0)
    new = opened(cache, P0)

    # When
    cache.close(old)

    # Then
    assert cache.find(OF_ALICE) is new


def test_a_group_has_sessions_until_the_last_one_closes() -> None:
    # Given
    cache = a_cache()
    session = opened(cache, P0)
    before = cache.group_has_sessions(ORDERS)

    # When
    cache.close(session)

    # Then
    assert before
    assert not cache.group_has_sessions(ORDERS)


def test_a_forgotten_partition_leaves_the_session() -> None:
    # Given
    cache = a_cache()
    opened(cache, P0, P1)

    # When
    session = advance(cache, 1, added=(P2,), forgotten=(P0,))

    # Then
    assert session.partitions == (P1, P2)


def test_a_partition_listed_to_acknowledge_and_forgotten_at_once_does_not_stay() -> None:
    # Given
    cache = a_cache()
    opened(cache, P0)

    # When
    session = advance(cache, 1, added=(P1,), forgotten=(P1,))

    # Then
    assert session.partitions == (P0,)


def test_every_partition_comes_first_in_its_turn_however_often_the_member_acknowledges() -> None:
    # Given
    cache = a_cache()
    session = opened(cache, P0, P1)
    turns = []

    # When
    for epoch in (1, 3, 5):
        turns.append(session.next_turn())
        cache.acknowledge(session.key, ShareSessionEpoch(epoch))
        cache.advance(session.key, ShareSessionEpoch(epoch + 1), added=(), forgotten=())

    # Then
    assert turns == [(P0, P1), (P1, P0), (P0, P1)]


def test_a_session_without_partitions_has_none_in_turn() -> None:
    assert opened(a_cache()).next_turn() == ()


def test_a_new_partition_is_named_once_and_then_only_with_news() -> None:
    # Given
    session = opened(a_cache(), P0)

    # When
    named = [
        session.belongs_in_response(P0, has_records=False, has_error=False),
        session.belongs_in_response(P0, has_records=False, has_error=False),
        session.belongs_in_response(P0, has_records=True, has_error=False),
        session.belongs_in_response(P0, has_records=False, has_error=False),
    ]

    # Then
    assert named == [True, False, True, False]


def test_a_partition_added_later_is_named_once_too() -> None:
    # Given
    cache = a_cache()
    session = opened(cache, P0)
    session.belongs_in_response(P0, has_records=False, has_error=False)
    advance(cache, 1, added=(P0, P1))

    # When
    named = [session.belongs_in_response(p, has_records=False, has_error=False) for p in (P0, P1)]

    # Then
    assert named == [False, True]


def test_after_an_error_a_partition_is_named_once_more() -> None:
    # Given
    session = opened(a_cache(), P0)
    session.belongs_in_response(P0, has_records=False, has_error=False)

    # When
    named = [
        session.belongs_in_response(P0, has_records=False, has_error=True),
        session.belongs_in_response(P0, has_records=False, has_error=False),
        session.belongs_in_response(P0, has_records=False, has_error=False),
    ]

    # Then
    assert named == [True, True, False]


def test_a_partition_outside_the_session_is_named_with_news_only() -> None:
    # Given
    session = opened(a_cache(), P0)

    # When
    named = [
        session.belongs_in_response(P1, has_records=False, has_error=False),
        session.belongs_in_response(P1, has_records=True, has_error=False),
    ]

    # Then
    assert named == [False, True]
    assert session.partitions == (P0,)
