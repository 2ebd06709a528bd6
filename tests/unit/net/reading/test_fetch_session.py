from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kproxy.error_codes import ErrorCode
from kproxy.net.reading.fetch_session import FetchSession
from kproxy.net.reading.fetch_topics import FetchEntry
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse
from tests.in_memory.scripted_fetches import FetchSessions
from tests.worlds.backing import ORDERS


def entry(partition: int, fetch_offset: int = 0) -> FetchEntry:
    return FetchEntry(ORDERS, "orders", partition, fetch_offset, leader_epoch=0, max_bytes=1)


def key(partition: int) -> TopicIdPartition:
    return TopicIdPartition(ORDERS, partition)


def next_request(session: FetchSession) -> FetchRequest:
    return session.next_request(max_wait_ms=250, max_bytes=1)


def asked(request: FetchRequest) -> dict[int, int]:
    return {each.partition: each.fetch_offset for topic in request.topics for each in topic.partitions}


def forgotten(request: FetchRequest) -> list[int]:
    return [partition for topic in request.forgotten_topics_data for partition in topic.partitions]


def opened(*entries: FetchEntry) -> FetchSession:
    session = FetchSession()
    for each in entries:
        session.put(each)
    next_request(session)
    session.absorb(FetchResponse(session_id=77))
    return session


def test_the_first_request_opens_a_session_and_names_everything() -> None:
    # Given
    session = FetchSession()
    session.put(entry(0, 10))
    session.put(entry(1, 20))

    # When
    request = next_request(session)

    # Then
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {0: 10, 1: 20}
    assert (request.min_bytes, request.max_wait_ms, request.max_bytes) == (1, 250, 1)


def test_the_next_requests_name_only_what_changed() -> None:
    # Given
    session = opened(entry(0, 10), entry(1, 20))
    session.put(entry(1, 21))
    session.put(entry(0, 10))

    # When
    request = next_request(session)

    # Then
    assert (request.session_id, request.session_epoch) == (77, 1)
    assert asked(request) == {1: 21}


def test_epochs_count_up_and_begin_again_at_1() -> None:
    # Given
    session = opened(entry(0))
    session._next_epoch = 2**31 - 2

    # When
    epochs = []
    for _ in range(3):
        epochs.append(next_request(session).session_epoch)
        session.absorb(FetchResponse(session_id=77))

    # Then
    assert epochs == [2**31 - 2, 2**31 - 1, 1]


def test_a_forgotten_partition_is_named_once() -> None:
    # Given
    session = opened(entry(0), entry(1))
    session.forget(key(1))

    # When
    requests = [next_request(session)]
    session.absorb(FetchResponse(session_id=77))
    requests.append(next_request(session))

    # Then
    assert [forgotten(request) for request in requests] == [[1], []]
    assert key(1) not in session
    assert len(session) == 1


def test_a_partition_forgotten_before_the_broker_heard_of_it_is_not_mentioned() -> None:
    # Given
    session = opened(entry(0))
    session.put(entry(1))
    session.forget(key(1))

    # When
    request = next_request(session)

    # Then
    assert (asked(request), forgotten(request)) == ({}, [])


def test_a_partition_forgotten_and_wanted_again_is_asked_for_and_not_forgotten() -> None:
    """A broker applies the forgotten ones last, so naming it twice would drop it."""
    # Given
    session = opened(entry(0, 10))
    session.forget(key(0))
    session.put(entry(0, 12))

    # When
    request = next_request(session)

    # Then
    assert (asked(request), forgotten(request)) == ({0: 12}, [])


def test_after_a_restart_everything_is_named_again() -> None:
    # Given
    session = opened(entry(0, 10), entry(1, 20))
    session.forget(key(1))

    # When
    session.restart()

    # Then
    request = next_request(session)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert (asked(request), forgotten(request)) == ({0: 10}, [])


def test_a_broker_without_room_for_a_session_is_told_everything_every_time() -> None:
    # Given
    session = FetchSession()
    session.put(entry(0, 10))

    # When
    requests = []
    for _ in range(2):
        requests.append(next_request(session))
        session.absorb(FetchResponse(session_id=0))

    # Then
    assert [(request.session_epoch, asked(request)) for request in requests] == [(0, {0: 10}), (0, {0: 10})]


class SessionAgainstABroker(RuleBasedStateMachine):
    """Whatever is put and forgotten between requests, the broker ends up with exactly what is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.session = FetchSession()
        self.broker = FetchSessions()
        self.wanted: dict[int, int] = {}
        self.at_broker: dict[int, int] | None = None

    @rule(partition=st.integers(0, 4), fetch_offset=st.integers(0, 3))
    def put(self, partition: int, fetch_offset: int) -> None:
        self.session.put(entry(partition, fetch_offset))
        self.wanted[partition] = fetch_offset
        self.at_broker = None

    @rule(partition=st.integers(0, 4))
    def forget(self, partition: int) -> None:
        self.session.forget(key(partition))
        self.wanted.pop(partition, None)
        self.at_broker = None

    @rule()
    def lose_the_request(self) -> None:
        next_request(self.session)
        self.session.restart()
        self.at_broker = None

    @rule(has_room=st.booleans())
    def fill_the_cache(self, has_room: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        self.broker.has_room = has_room

    @rule()
    def lose_the_session(self) -> None:
        self.broker.forget_all()

    @rule()
    def poll(self) -> None:
        outcome = self.broker.open(next_request(self.session), lambda topic_id, _: TopicId(topic_id))
        if isinstance(outcome, ErrorCode):
            assert outcome is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            self.session.restart()
            return
        self.session.absorb(FetchResponse(session_id=outcome.session_id))
        self.at_broker = {each.partition: asked.fetch_offset for each, asked in outcome.partitions.items()}

    @invariant()
    def the_broker_watches_what_is_wanted(self) -> None:
        assert self.at_broker is None or self.at_broker == self.wanted


SessionAgainstABroker.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSessionAgainstABroker = SessionAgainstABroker.TestCase
