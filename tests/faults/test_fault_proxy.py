"""The shell does to real sockets what the script says."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.fault_proxy import Door, FaultProxy
from tests.faults.kinds import Fault, Kind, Link, Way
from tests.real_kafka.ports import LOOPBACK, ReservedPort

TIMEOUT_SECONDS = 10.0


@contextmanager
def through_a_proxy(*, strikes: Fault | None) -> Iterator[tuple[FaultProxy, socket.socket, socket.socket]]:
    """The proxy, a client's end and the server's end of one connection; one fault is to come in its requests."""
    with socket.create_server((LOOPBACK, 0)) as server, ReservedPort() as own:
        door = Door(Link.CLIENTS, "client 1", (LOOPBACK, own.number), server.getsockname())
        with (
            FaultProxy(1, [door]) as proxy,
            socket.create_connection((LOOPBACK, own.number), timeout=TIMEOUT_SECONDS) as client,
            server.accept()[0] as served,
        ):
            served.settimeout(TIMEOUT_SECONDS)
            client.sendall(b"<")
            assert served.recv(10) == b"<"
            if strikes is not None:
                proxy.begin()
                _set_next(proxy, strikes)
            yield proxy, client, served


def read_to_the_end(end: socket.socket) -> None:
    while end.recv(100):
        pass


def _set_next(proxy: FaultProxy, fault: Fault) -> None:
    [passage] = proxy._state.open
    for direction in passage.script._ways.values():
        direction._faults = iter([Fault(Kind.STALL, 1 << 40)] * 3)
    passage.script._ways[Way.REQUESTS]._go_on_to(fault)
    passage.script._ways[Way.RESPONSES]._go_on_to(Fault(Kind.STALL, 1 << 40))


def test_bytes_pass_both_ways_and_the_end_of_each_way() -> None:
    with through_a_proxy(strikes=None) as (proxy, client, served):
        client.sendall(b"question")
        assert served.recv(100) == b"question"
        client.shutdown(socket.SHUT_WR)
        assert served.recv(100) == b""
        served.sendall(b"answer")
        served.close()
        assert client.recv(100) == b"answer"
        assert client.recv(100) == b""
    assert proxy.story == []


def test_a_cut_connection_ends_in_order_at_both_ends() -> None:
    with through_a_proxy(strikes=Fault(Kind.CUT, 3)) as (_, client, served):
        client.sendall(b"abc")
        assert served.recv(100) == b"abc"
        client.sendall(b"d")
        assert served.recv(100) == b""
        assert client.recv(100) == b""


def test_a_reset_connection_is_reset_at_both_ends() -> None:
    with through_a_proxy(strikes=Fault(Kind.RESET, 3)) as (_, client, served):
        client.sendall(b"abcd")
        with pytest.raises(ConnectionResetError):
            read_to_the_end(served)
        with pytest.raises(ConnectionResetError):
            client.recv(100)


def test_a_half_closed_connection_goes_on_in_the_other_direction() -> None:
    with through_a_proxy(strikes=Fault(Kind.HALF_CLOSE, 3)) as (_, client, served):
        client.sendall(b"abcdef")
        assert served.recv(100) == b"abc"
        assert served.recv(100) == b""
        served.sendall(b"still here")
        assert client.recv(100) == b"still here"


def test_of_a_vanished_peer_nothing_is_heard_any_more_and_it_is_known_who_waits_for_it() -> None:
    with through_a_proxy(strikes=Fault(Kind.VANISH, 3)) as (proxy, client, served):
        client.sendall(b"abcdef")
        assert served.recv(100) == b"abc"
        served.settimeout(0.2)
        with pytest.raises(TimeoutError):
            served.recv(100)
        client.close()
        with pytest.raises(TimeoutError):
            served.recv(100)
        ends = {f"{host}:{port}" for host, port in (served.getsockname(), served.getpeername())}
        [held] = proxy.held_by_vanished()
        assert set(held) == ends
        assert proxy.open_count() == 0


def test_the_story_tells_who_was_struck_where() -> None:
    with through_a_proxy(strikes=Fault(Kind.RESET, 3)) as (proxy, client, served):
        client.sendall(b"abcd")
        with pytest.raises(ConnectionResetError):
            read_to_the_end(served)
        [told] = proxy.story
    assert told.line(told.at) == "   0.000 client 1 connection 0 (unknown) requests, byte 4: reset"
    assert proxy.counts() == {"client: reset": 1}


def test_a_connection_to_nobody_is_reset() -> None:
    with ReservedPort() as own, ReservedPort() as nobody:
        door = Door(Link.CLIENTS, "client 1", (LOOPBACK, own.number), (LOOPBACK, nobody.number))
        with FaultProxy(1, [door]), pytest.raises(ConnectionResetError):
            _first_byte_of(own.number)


def _first_byte_of(port: int) -> bytes:
    with socket.create_connection((LOOPBACK, port), timeout=TIMEOUT_SECONDS) as client:
        return client.recv(1)


def test_nothing_is_left_of_a_proxy_that_ended() -> None:
    before = threading.active_count()
    with through_a_proxy(strikes=Fault(Kind.VANISH, 0)) as (_, client, _):
        client.sendall(b"abc")
    assert threading.active_count() == before
