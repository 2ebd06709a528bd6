"""What one ShareFetch asks for."""

import pytest

from kproxy.handlers.fetching.fetch_terms import FetchTerms
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import GroupId, MemberId, TopicIdPartition
from kproxy.share.share_session import ShareSessionKey
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired

ACCEPT = 1
RECORD_LIMIT = 1


def terms(*, max_records: int, max_bytes: int) -> FetchTerms:
    return FetchTerms(
        session_key=ShareSessionKey(1, GroupId("g"), MemberId("alice")),
        partitions=(TopicIdPartition(ORDERS, 4),),
        session_number=1,
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


async def test_a_fetch_whose_client_is_gone_acknowledges_and_acquires_nothing() -> None:
    """It stood behind another request when the connection ended."""
    # Given
    world = ShareGroupWorld()
    world.produce(4)
    await world.initialize()
    alice = world.member()
    await alice.open()
    await alice.fetch(max_records=2, mode=RECORD_LIMIT)
    alice.caller.is_gone = True

    # When
    answer = await alice.fetch(acks={(ORDERS, 0): [(0, 0, [ACCEPT])]})

    # Then
    live = world.groups.directory.find(world.key())
    assert live is not None
    assert acquired(answer) == []
    assert (live.start_offset, live.next_fetch_offset()) == (1, 2)


async def test_a_fetch_whose_client_goes_while_it_waits_acquires_nothing() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    alice = world.member()
    await alice.open()

    async def leave_and_produce() -> None:
        alice.caller.is_gone = True
        world.produce(4)

    world.reader.before_read = leave_and_produce

    # When
    answer = await alice.fetch()

    # Then
    live = world.groups.directory.find(world.key())
    assert live is not None
    assert acquired(answer) == []
    assert live.next_fetch_offset() == 0
