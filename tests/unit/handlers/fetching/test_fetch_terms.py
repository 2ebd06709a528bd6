"""What one ShareFetch asks for."""

import pytest

from kproxy.handlers.fetching.fetch_terms import FetchTerms
from kproxy.handlers.ports import RequestContext
from kproxy.share.identifiers import GroupId, MemberId, TopicIdPartition
from kproxy.share.share_session import ShareSessionKey
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld


def terms(*, max_records: int, max_bytes: int) -> FetchTerms:
    return FetchTerms(
        session_key=ShareSessionKey(1, GroupId("g"), MemberId("alice")),
        partitions=(),
        deadline_ms=0,
        min_bytes=1,
        max_bytes=max_bytes,
        max_records=max_records,
        batch_size=1,
        is_record_limit=False,
        is_session_open=lambda: True,
        context=RequestContext(1, 1, 78, 2, "client", "/127.0.0.1"),
    )


@pytest.mark.parametrize(
    ("max_records", "max_bytes", "wants_nothing"),
    [(1, 1, False), (0, 1, True), (1, 0, True), (-1, 1, True), (1, -1, True)],
)
def test_without_records_or_bytes_a_request_wants_nothing(
    max_records: int, max_bytes: int, *, wants_nothing: bool
) -> None:
    # When
    asked = terms(max_records=max_records, max_bytes=max_bytes)

    # Then
    assert asked.wants_nothing is wants_nothing


def test_a_partition_of_a_request_is_a_share_partition_of_its_group() -> None:
    # When
    key = terms(max_records=1, max_bytes=1).key(TopicIdPartition(ORDERS, 4))

    # Then
    assert key == ShareGroupWorld.key("g", topic_id=ORDERS, partition=4)
