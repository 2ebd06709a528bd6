"""How many share sessions one principal may have open."""

import pytest

from kproxy.errors import ShareSessionLimitReached
from kproxy.share.identifiers import MemberId
from kproxy.share.share_session import ShareSession, ShareSessionCache, ShareSessionKey, ShareSessionLimits
from tests.worlds.share_builders import ORDERS, TOPIC, partitions_of

(P0,) = partitions_of(TOPIC, [0])


def open_for(cache: ShareSessionCache, member: str, principal: str) -> ShareSession:
    return cache.open(
        ShareSessionKey(1, ORDERS, MemberId(member)),
        connection_id=7,
        partitions=[P0],
        has_acknowledgements=False,
        principal=principal,
    )


def test_a_principal_has_as_many_sessions_as_it_may_and_others_have_theirs() -> None:
    cache = ShareSessionCache(ShareSessionLimits(max_of_principal=1))
    first = open_for(cache, "a", "User:alice")

    with pytest.raises(ShareSessionLimitReached, match="User:alice has 1 share session open already"):
        open_for(cache, "b", "User:alice")

    assert open_for(cache, "c", "User:bob").next_epoch == 1
    cache.close(first)
    assert open_for(cache, "b", "User:alice").next_epoch == 1


def test_a_session_that_is_replaced_makes_room_for_the_one_in_its_place() -> None:
    cache = ShareSessionCache(ShareSessionLimits(max_of_principal=1))
    open_for(cache, "a", "User:alice")

    assert open_for(cache, "a", "User:alice").number == 2

    with pytest.raises(ShareSessionLimitReached):
        open_for(cache, "b", "User:alice")
