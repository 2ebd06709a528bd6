"""Who asks, and under which session."""

import pytest

from kproxy.errors import InvalidRequest
from kproxy.handlers.live.share_session_requests import is_open, session_claim
from kproxy.handlers.ports import RequestContext
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.share_session import ShareSessionCache, ShareSessionKey, ShareSessionLimits
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest

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
