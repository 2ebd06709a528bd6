"""Who asks, and under which session."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRequest
from kproxy.handlers.live.share_session_requests import is_open, session_claim
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.share_session import ShareSessionCache, ShareSessionKey, ShareSessionLimits
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.in_memory.scripted_caller import ScriptedCaller
from tests.worlds.share_group_world import (
    ORDERS,
    Acks,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    world_with_orders,
)

CONTEXT = RequestContext(1, 5, 78, 2, "client", "/127.0.0.1")
KEY = ShareSessionKey(5, GroupId("g"), MemberId("alice"))


@pytest.mark.parametrize(
    ("epoch", "opens", "closes"), [(0, True, False), (-1, False, True), (1, False, False), (-2, False, False)]
)
def test_a_claim_names_the_session_on_the_port_it_came_to(epoch: int, *, opens: bool, closes: bool) -> None:
    # When
    claim = session_claim(ShareFetchRequest("g", "alice", epoch), CONTEXT)

    # Then
    assert claim.key == KEY
    assert (claim.opens, claim.closes) == (opens, closes)


def test_a_member_id_may_be_36_characters_long() -> None:
    # When
    claim = session_claim(ShareFetchRequest("g", "m" * 36, 0), CONTEXT)

    # Then
    assert claim.key.member_id == "m" * 36


@pytest.mark.parametrize(
    ("group_id", "member_id"), [(None, "alice"), ("g", None), ("g", ""), ("g", "m" * 37)]
)
def test_without_usable_ids_there_is_no_claim(group_id: str | None, member_id: str | None) -> None:
    # When
    with pytest.raises(InvalidRequest) as refusal:
        session_claim(ShareFetchRequest(group_id, member_id, 0), CONTEXT)

    # Then
    assert " id" in str(refusal.value)


def test_a_session_that_was_replaced_or_closed_is_not_open() -> None:
    # Given
    cache = ShareSessionCache(ShareSessionLimits(max_share_sessions=10))
    first = cache.open(KEY, connection_id=1, partitions=(), has_acknowledgements=False)
    was_open = is_open(cache, first)

    # When
    second = cache.open(KEY, connection_id=2, partitions=(), has_acknowledgements=False)

    # Then
    assert was_open
    assert (is_open(cache, first), is_open(cache, second)) == (False, True)
    cache.close(second)
    assert not is_open(cache, second)


# ---- what a client left behind on a connection that is gone

ALL_ACCEPTED: Acks = {(ORDERS, 0): [(0, 4, [1])]}


async def a_member_that_began_anew() -> tuple[ShareGroupWorld, Member, Member]:
    """Alice holds five records on a second connection; as she was on the first one, which is gone, is the other."""
    world = await world_with_orders()
    world.produce(5)
    left, alice = world.member("alice"), world.member("alice")
    left.caller = ScriptedCaller(is_gone=True)
    await alice.open()
    assert acquired(await alice.fetch()) == [(0, 4, 1)]
    return world, left, alice


async def test_an_opening_fetch_that_was_left_behind_does_not_replace_the_session_of_the_living_connection() -> (
    None
):
    # Given
    world, left, alice = await a_member_that_began_anew()

    # When
    refused = await left.fetch(add=[(ORDERS, 0)], epoch=0)
    await world.groups.apis.connection_closed(left.connection_id)

    # Then
    assert refused.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert acknowledge_errors(await alice.acknowledge(ALL_ACCEPTED)) == {(ORDERS, 0): ErrorCode.NONE}


async def test_an_opening_fetch_that_was_left_behind_opens_no_session() -> None:
    # Given
    world = await world_with_orders()
    left = world.member()
    left.caller = ScriptedCaller(is_gone=True)

    # When
    refused = await left.open()

    # Then
    assert refused.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert world.groups.session_count == 0


async def test_a_closing_request_that_was_left_behind_does_not_end_the_session_of_the_living_connection() -> (
    None
):
    # Given
    _, left, alice = await a_member_that_began_anew()

    # When
    refused = [
        (await left.acknowledge(epoch=-1)).error_code,
        (await left.fetch(epoch=-1, max_records=0)).error_code,
    ]

    # Then
    assert refused == [ErrorCode.SHARE_SESSION_NOT_FOUND] * 2
    assert acknowledge_errors(await alice.acknowledge(ALL_ACCEPTED)) == {(ORDERS, 0): ErrorCode.NONE}


async def test_what_was_left_behind_does_not_count_as_a_request_of_the_living_connection() -> None:
    # Given
    _, left, alice = await a_member_that_began_anew()

    # When
    refused = [
        (await left.fetch(epoch=2)).error_code,
        (await left.acknowledge(ALL_ACCEPTED, epoch=2)).error_code,
    ]

    # Then
    assert refused == [ErrorCode.SHARE_SESSION_NOT_FOUND] * 2
    assert acknowledge_errors(await alice.acknowledge(ALL_ACCEPTED, epoch=2)) == {(ORDERS, 0): ErrorCode.NONE}


@pytest.mark.parametrize("epoch", [2, -1])
async def test_last_acknowledgements_that_were_left_behind_count_in_the_session_of_their_connection(
    epoch: int,
) -> None:
    # Given
    world = await world_with_orders()
    world.produce(5)
    alice = world.member()
    await alice.open()
    await alice.fetch()
    alice.caller.is_gone = True

    # When
    answer = await alice.acknowledge(ALL_ACCEPTED, epoch=epoch)

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}
