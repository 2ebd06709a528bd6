"""`BackPressure`: whichever side is full stops the other."""

import struct

from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.client_session import ClientSession
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.relay.back_pressure import MAX_BACKLOG_BYTES, MAX_OWED_RESPONSES, BackPressure
from kproxy.wire import codecs
from kproxy.wire.messages.metadata_request import MetadataRequest
from tests.unit.net.relaying import SERVED, request, response, share_fetch, share_search

UNKNOWN_API_VERSIONS = struct.pack(">ihhi", 8, 18, 99, 1)
"""Answered at once."""

METADATA = b"".join(codecs.encode_request(3, 12, 1, "client", MetadataRequest()))
"""Its response is held whole."""


def a_session(received: bytes = b"") -> ClientSession:
    routes = RoutingTable(SERVED)
    rewriter = ResponseRewriter(BrokerAddresses(), lambda: routes.served)
    session = ClientSession(routes, rewriter, max_request_bytes=1 << 20, request_counts={})
    session.receive_from_client(received)
    return session


def wanted(pressure: BackPressure, session: ClientSession, *, has_twin: bool = True) -> tuple[bool, bool]:
    """Return whether client and broker are read."""
    return pressure.is_client_wanted(session, has_twin=has_twin), pressure.is_broker_wanted


def test_both_are_read_while_nothing_waits() -> None:
    assert wanted(BackPressure(), a_session()) == (True, True)


def test_a_broker_that_is_full_stops_the_client_only() -> None:
    pressure = BackPressure()
    pressure.is_broker_full = True

    assert wanted(pressure, a_session()) == (False, True)


def test_a_client_that_is_full_and_a_frame_without_room_stop_both() -> None:
    full, without_room = BackPressure(), BackPressure()
    full.is_client_full = without_room.awaits_room = True

    assert wanted(full, a_session()) == wanted(without_room, a_session()) == (False, False)


def test_nothing_more_is_taken_from_a_client_at_the_end_but_it_hears_its_answers() -> None:
    pressure = BackPressure()
    pressure.is_ending = True

    assert wanted(pressure, a_session()) == (False, True)


def test_a_client_is_not_read_while_its_first_requests_wait_for_the_broker_to_be_connected() -> None:
    assert wanted(BackPressure(), a_session(request(1)), has_twin=False) == (False, True)


def test_a_client_whose_answers_take_much_and_wait_for_the_broker_is_not_read_nor_gone_on_with() -> None:
    # Given
    pressure, session = BackPressure(), a_session(request(1) + share_search(2) + share_search(3))
    session.go_on()

    # When
    before = (
        session.slots.kept_bytes > MAX_BACKLOG_BYTES,
        wanted(pressure, session),
        pressure.makes_turn_due(session),
    )
    session.receive_from_broker(response(1))

    # Then
    assert before == (True, (False, True), False)
    assert session.slots.kept_bytes == 0
    assert pressure.makes_turn_due(session)


def test_a_large_frame_that_has_room_is_read_to_its_end_whoever_is_slow_for_others_wait_for_that() -> None:
    # Given
    owed = b"".join(request(number) for number in range(MAX_OWED_RESPONSES + 1))
    session, pressure = a_session(owed), BackPressure()
    pressure.is_broker_full = pressure.is_client_full = True

    # When
    before = pressure.is_client_wanted(session, has_twin=True)
    session.receive_from_client(share_search(2)[:100_000])
    with_room = pressure.is_client_wanted(session, has_twin=True)
    pressure.awaits_room = True

    # Then
    assert (before, with_room) == (False, True)
    assert not pressure.is_client_wanted(session, has_twin=True)


def test_a_small_frame_is_no_reason_to_read_on() -> None:
    session = a_session(b"".join(request(number) for number in range(MAX_OWED_RESPONSES + 1)))

    session.receive_from_client(share_search(2, key_count=1)[:10_000])

    assert not BackPressure().is_client_wanted(session, has_twin=True)


def test_a_large_response_that_has_room_is_read_to_its_end_though_its_client_is_slow() -> None:
    # Given
    session, pressure = a_session(METADATA), BackPressure()
    pressure.is_client_full = True

    # When
    before = pressure.is_response_wanted(session)
    session.receive_from_broker(response(1, bytes(100_000))[:50_000])
    with_room = pressure.is_response_wanted(session)
    pressure.awaits_room = True

    # Then
    assert (before, with_room) == (False, True)
    assert not pressure.is_response_wanted(session)


def test_a_client_that_has_too_many_answers_to_come_is_not_read() -> None:
    most, more = (
        a_session(b"".join(request(number) for number in range(count)))
        for count in (MAX_OWED_RESPONSES, MAX_OWED_RESPONSES + 1)
    )

    assert [wanted(BackPressure(), session)[0] for session in (most, more)] == [True, False]


def test_a_client_that_sent_too_much_behind_an_answer_is_not_read() -> None:
    session = a_session(share_fetch(1) + request(2, bytes(MAX_BACKLOG_BYTES)))

    assert wanted(BackPressure(), session) == (False, True)


def test_requests_that_wait_for_a_turn_are_gone_on_with_once_and_where_there_is_room() -> None:
    # Given
    session = a_session(UNKNOWN_API_VERSIONS * 1_000)
    at_ease, client_full, broker_full, under_way = (BackPressure() for _ in range(4))
    client_full.is_client_full = broker_full.is_broker_full = under_way.is_turn_due = True

    # When
    due = [
        pressure.makes_turn_due(session)
        for pressure in (at_ease, at_ease, client_full, broker_full, under_way)
    ]

    # Then
    assert session.is_paused
    assert due == [True, False, False, False, False]
    assert not BackPressure().makes_turn_due(a_session())


def test_a_turn_is_due_for_a_large_answer_although_the_broker_takes_no_requests() -> None:
    # Given
    broker_full, client_full = BackPressure(), BackPressure()
    broker_full.is_broker_full = client_full.is_client_full = True
    session = a_session()
    session.has_long_answer = True

    # When
    due = [pressure.makes_turn_due(session) for pressure in (broker_full, broker_full, client_full)]

    # Then
    assert due == [True, False, False]


def test_a_client_that_has_sent_too_many_requests_is_read_no_further_and_its_broker_is() -> None:
    pressure = BackPressure()
    pressure.is_throttled = True

    assert not pressure.is_client_wanted(a_session(), has_twin=True)
    assert pressure.is_broker_wanted
