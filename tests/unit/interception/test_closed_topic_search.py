from typing import Final

import pytest

from kproxy.errors import PeerViolation
from kproxy.interception.closed_topic_search import ClosedTopicSearch
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.routing import RoutingTable
from kproxy.interception.turns.turn_share import TurnShare
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.fetch_request import FetchRequest, FetchTopic
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

LARGE: Final = 20_000
STATE: Final = "__kproxy_share_state"


def a_search(*names: str) -> ClosedTopicSearch:
    return ClosedTopicSearch(RoutingTable({}, closed_topics=ClosedTopics(names or (STATE,))), TurnShare())


def frame_of(api_key: int, version: int, message: Message) -> bytes:
    return b"".join(codecs.encode_request(api_key, version, 1, "client", message))


def produced(*topics: str, size: int = 10) -> bytes:
    data = [TopicProduceData(name, partition_data=[PartitionProduceData(0, b"r" * size)]) for name in topics]
    return frame_of(ApiKey.PRODUCE, 9, ProduceRequest(acks=1, topic_data=data))


FETCH: Final = frame_of(ApiKey.FETCH, 11, FetchRequest(topics=[FetchTopic(STATE)]))
OTHER_FETCH: Final = frame_of(ApiKey.FETCH, 11, FetchRequest(topics=[FetchTopic("orders")]))


def test_what_contains_such_a_name_is_held() -> None:
    assert a_search().must_hold(FETCH, 0, len(FETCH))
    assert not a_search().must_hold(OTHER_FETCH, 0, len(OTHER_FETCH))
    other = produced("orders")
    assert not a_search().must_hold(other, 0, len(other))
    small = produced("orders", STATE)
    assert a_search().must_hold(memoryview(small), 0, len(small))


def test_where_nothing_is_closed_and_of_other_apis_nothing_is_held() -> None:
    heartbeat = frame_of(ApiKey.HEARTBEAT, 4, HeartbeatRequest(group_id=STATE))
    assert not a_search().must_hold(heartbeat, 0, len(heartbeat))
    open_search = ClosedTopicSearch(RoutingTable({}), TurnShare())
    assert not open_search.must_hold(FETCH, 0, len(FETCH))


def test_what_has_not_come_whole_is_held_until_it_has() -> None:
    assert a_search().must_hold(OTHER_FETCH[:-1], 0, len(OTHER_FETCH))


def test_of_a_produce_the_names_are_read_and_nothing_else() -> None:
    # Given
    payload = STATE.encode() * LARGE
    data = [TopicProduceData("orders", partition_data=[PartitionProduceData(0, payload)])]
    innocent = frame_of(ApiKey.PRODUCE, 9, ProduceRequest(acks=1, topic_data=data))
    guilty = produced("orders", STATE, size=LARGE)
    search = a_search()

    # When, then
    assert not search.must_hold(innocent, 0, len(innocent))
    assert search.must_hold(guilty, 0, len(guilty))
    assert search.streaming is None


def test_a_produce_that_streams_on_is_followed_to_its_end() -> None:
    # Given
    frame = produced("orders", STATE, size=LARGE)
    search = a_search()

    # When
    assert not search.must_hold(frame[:100], 0, len(frame))
    assert search.streaming is not None
    search.follow(frame[100:1_000], 900)

    # Then
    with pytest.raises(PeerViolation, match="state_topic"):
        search.follow(frame[1_000:], len(frame) - 1_000)


def test_nothing_is_followed_when_nothing_streams() -> None:
    search = a_search()
    search.follow(b"anything", 8)
    assert search.streaming is None


def test_a_produce_that_ends_too_early_is_for_the_broker_to_refuse() -> None:
    broken = frame_of(ApiKey.PRODUCE, 9, ProduceRequest(transactional_id=STATE, acks=1))[:-2]
    assert not a_search().must_hold(broken, 0, len(broken))
