"""Which partitions the answer to a ShareFetch names, and what it says of them."""

from collections.abc import Sequence

from kproxy.error_codes import ErrorCode
from kproxy.handlers.apis.share_fetch_answer import ShareFetchAnswer
from kproxy.handlers.fetching.fetch_terms import FetchedPartition
from kproxy.handlers.live.leadership import Leadership, PartitionRefusal
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import GroupId, MemberId, TopicIdPartition
from kproxy.share.share_session import ShareSession, ShareSessionKey
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.worlds.answer_budgets import NoRoomToWait
from tests.worlds.share_group_world import ORDERS, acquired, partitions_of, world_with_orders

BOTH = ((ORDERS, 0), (ORDERS, 1))
FIRST, SECOND = TopicIdPartition(ORDERS, 0), TopicIdPartition(ORDERS, 1)


def a_session() -> ShareSession:
    key = ShareSessionKey(1, GroupId("g"), MemberId("alice"))
    return ShareSession(key, number=1, connection_id=1, partitions=[FIRST, SECOND])


def an_answer(session: ShareSession, order: Sequence[TopicIdPartition] = (FIRST, SECOND)) -> ShareFetchAnswer:
    metadata = InMemoryClusterMetadata()
    metadata.create_topic("orders", ORDERS, partition_count=2)
    return ShareFetchAnswer(session, order, Leadership(metadata))


async def test_a_request_that_opens_a_session_is_answered_for_every_partition_it_names() -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    alice = world.member()

    # When
    answer = await alice.fetch(add=BOTH)

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert set(partitions_of(answer)) == {(ORDERS, 0), (ORDERS, 1)}


async def test_later_answers_name_only_partitions_with_news() -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    alice = world.member()
    await alice.fetch(add=[(ORDERS, 0)])

    # When
    silent = await alice.fetch()
    with_new_partition = await alice.fetch(add=[(ORDERS, 1)])

    # Then
    assert silent.responses == []
    assert set(partitions_of(with_new_partition)) == {(ORDERS, 1)}


async def test_errors_of_fetching_and_of_acknowledging_are_told_apart() -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    world.produce(5)
    alice = world.member()
    await alice.open(*BOTH)
    world.reader.fail(ORDERS, 1, ErrorCode.KAFKA_STORAGE_ERROR)

    # When
    answer = await alice.fetch(acks={(ORDERS, 0): [(0, 4, [1])]})

    # Then
    codes = {
        key: (data.error_code, data.acknowledge_error_code) for key, data in partitions_of(answer).items()
    }
    assert codes == {
        (ORDERS, 0): (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ORDERS, 1): (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE),
    }
    assert acquired(answer) == [(0, 4, 1)]


def test_partitions_stand_in_the_order_of_their_turns_under_one_topic() -> None:
    # Given
    answer = an_answer(a_session(), (SECOND, FIRST))
    answer.add_fetched({FIRST: FetchedPartition(), SECOND: FetchedPartition()})

    # When
    response = answer.response(30_000)

    # Then
    assert [topic.topic_id for topic in response.responses] == [ORDERS]
    assert [data.partition_index for data in response.responses[0].partitions] == [1, 0]


def test_a_partition_whose_error_is_over_is_named_once_more() -> None:
    # Given
    session = a_session()
    failed = FetchedPartition(PartitionRefusal(ErrorCode.KAFKA_STORAGE_ERROR, "no"))
    an_answer(session).add_fetched({FIRST: failed})
    later, last = an_answer(session), an_answer(session)

    # When
    later.add_fetched({FIRST: FetchedPartition()})
    last.add_fetched({FIRST: FetchedPartition()})

    # Then
    assert set(partitions_of(later.response(0))) == {(ORDERS, 0)}
    assert set(partitions_of(last.response(0))) == set()


def test_records_and_a_failed_acknowledgement_share_an_entry() -> None:
    # Given
    answer = an_answer(a_session())
    answer.add_fetched({FIRST: FetchedPartition(None, b"records", [AcquiredRange(4, 6, 2)])})

    # When
    refusal = PartitionRefusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "fenced")
    answer.add_acknowledged([FIRST], {FIRST: refusal})

    # Then
    response = answer.response(15_000)
    data = partitions_of(response)[ORDERS, 0]
    assert (data.error_code, data.error_message, bytes(data.records)) == (0, None, b"records")
    assert (data.acknowledge_error_code, data.acknowledge_error_message) == (6, "fenced")
    assert acquired(response) == [(4, 6, 2)]
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (1, 0)
    assert [(point.node_id, point.port) for point in response.node_endpoints] == [(1, 19093)]
    assert response.acquisition_lock_timeout_ms == 15_000


async def test_a_fetch_that_takes_too_much_memory_is_answered_at_once_with_what_there_is() -> None:
    # Given
    world = await world_with_orders()
    world.answer_budget = NoRoomToWait()
    alice, began_ms = world.member(), world.clock.now_ms()

    # When
    answer = await alice.fetch(add=((ORDERS, 0),), max_wait_ms=60_000)

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert acquired(answer) == []
    assert world.clock.now_ms() == began_ms
