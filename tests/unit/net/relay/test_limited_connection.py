"""Who is let in over real sockets, who was silent for too long, and who sends more requests than it may."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial

import pytest

from kproxy.net.relay.limits.connection_quotas import ConnectionQuotas, QuotaLimits
from kproxy.net.relay.relay import OpenConnection
from tests.event_loops import BOTH_LOOPS
from tests.unit.net.relaying import BIND_HOST, RelayUnderTest, ended, request, response, share_fetch
from tests.worlds.waiting import until

OTHER_ADDRESS = "127.0.0.2"
MIB = 1 << 20


class ClosingRelay(RelayUnderTest):
    """A relay whose clients are closed in the end."""

    def __init__(self, upstream_port: int, **limits: int) -> None:
        super().__init__(upstream_port, **limits)
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a client connection to the bootstrap port."""
        reader, writer = await super().connect()
        self._writers.append(writer)
        return reader, writer

    async def __aexit__(self, *error: object) -> None:
        for writer in self._writers:
            writer.transport.abort()
        await super().__aexit__(*error)


@asynccontextmanager
async def relayed_echoes(*, is_silent: bool = False, **limits: int) -> AsyncIterator[ClosingRelay]:
    """A relay in front of a broker that answers every request, or takes every one and answers none."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                if not is_silent:
                    writer.write(response(int.from_bytes(frame[4:8], "big")))
        writer.close()

    server = await asyncio.start_server(serve, BIND_HOST, 0, backlog=1024)
    try:
        async with ClosingRelay(server.sockets[0].getsockname()[1], **limits) as under_test:
            yield under_test
    finally:
        server.close()
        for each in writers:
            each.transport.abort()


@contextmanager
def storm(port: int, count: int) -> Iterator[None]:
    """Connect `count` times from another address, without waiting; all are closed when the `with` ends."""
    with ExitStack() as stormers:
        for _ in range(count):
            each = stormers.enter_context(socket.socket())
            each.setblocking(False)
            each.bind((OTHER_ADDRESS, 0))
            each.connect_ex((BIND_HOST, port))
        yield


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, correlation_id: int = 1) -> bytes:
    writer.write(request(correlation_id))
    return await reader.readexactly(len(response(correlation_id)))


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_storm_of_connections_from_one_address_disturbs_no_client_of_another_one() -> None:
    async with relayed_echoes() as under_test:
        # Given
        under_test.relay.quotas = ConnectionQuotas(QuotaLimits(of_address=100))
        before = await under_test.connect()

        # When
        with storm(under_test.listeners.bound_ports[-1], 2_000):
            answer = await ask(*before)
            newcomer = await under_test.connect()
            answer_of_newcomer = await ask(*newcomer)
            refused = partial(under_test.counted.of, "connections_refused", "max_connections_per_ip")
            # Whose SYN found the queue full comes again after 1, 3 and 7 seconds.
            await until(lambda: refused() == 1_900, seconds=20)
            connection_count = len(under_test.relay.connections)

        # Then
        assert (answer, answer_of_newcomer) == (response(1), response(1))
        assert connection_count == 100 + 2
        await until(lambda: len(under_test.relay.connections) == 2)
        assert await ask(*before) == response(1)


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_the_connection_beyond_the_limit_of_all_is_closed_at_once_and_those_before_stay() -> None:
    async with relayed_echoes() as under_test:
        under_test.relay.quotas = ConnectionQuotas(QuotaLimits(in_all=1))
        first = await under_test.connect()
        await ask(*first)

        reader, _writer = await under_test.connect()

        assert await ended(reader) == b""
        assert await ask(*first) == response(1)
        assert under_test.counted.counts["connections_refused", "max_connections"] == 1
        assert under_test.counted.counts["connections", "client"] == 1


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_whoever_is_refused_is_told_of_in_the_log_with_the_limit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with relayed_echoes() as under_test:
        under_test.relay.quotas = ConnectionQuotas(QuotaLimits(in_all=1))
        await ask(*await under_test.connect())

        reader, _writer = await under_test.connect()
        await ended(reader)

    (keys,) = [
        record.__dict__["event_keys"] for record in caplog.records if record.msg == "connection_over_limit"
    ]
    assert (keys["reason"], keys["limit"], keys["node"]) == ("max_connections", 1, -1)


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_client_that_sends_no_whole_request_in_time_is_closed() -> None:
    async with relayed_echoes(handshake_deadline_ms=200) as under_test:
        silent, _ = await under_test.connect()
        dripping, drip = await under_test.connect()
        drip.write(request(1)[:-1])

        assert [await ended(each) for each in (silent, dripping)] == [b"", b""]

        assert under_test.counted.counts["connections_expired", "no_request"] == 2


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_client_that_has_sent_a_request_may_be_silent_for_longer() -> None:
    async with relayed_echoes(handshake_deadline_ms=600) as under_test:
        asking = await under_test.connect()
        await ask(*asking)
        silent, _ = await under_test.connect()

        await ended(silent)

        assert await ask(*asking) == response(1)


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_where_clients_prove_who_they_are_a_request_is_not_enough() -> None:
    async with relayed_echoes(handshake_deadline_ms=600) as under_test:
        proved: set[OpenConnection] = set()
        under_test.relay.quotas = ConnectionQuotas(
            QuotaLimits(unauthenticated=2), has_proved=proved.__contains__
        )
        known = await under_test.connect()
        await ask(*known)
        proved.update(under_test.relay.connections)
        unknown = await under_test.connect()
        await ask(*unknown)

        assert await ended(unknown[0]) == b""

        assert await ask(*known) == response(1)
        assert under_test.counted.counts["connections_expired", "not_authenticated"] == 1


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_connection_whose_broker_owes_an_answer_is_closed_when_nothing_is_heard_of_either_side() -> (
    None
):
    """Both are behind a network that is gone: no FIN ever comes. A broker closes what is idle likewise, owed or not."""
    async with relayed_echoes(is_silent=True, client_idle_ms=200) as under_test:
        client, writer = await under_test.connect()
        writer.write(request(1))

        assert await ended(client) == b""

        assert under_test.counted.counts["connections_expired", "unanswered"] == 1
        await until(lambda: not under_test.relay.connections)


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_connection_on_which_nothing_passes_is_closed_and_one_that_is_owed_an_answer_is_not() -> None:
    async with relayed_echoes(client_idle_ms=600) as under_test:
        parked, writer = await under_test.connect()
        writer.write(share_fetch(7))
        await under_test.apis.was_asked.wait()
        idle = await under_test.connect()
        await ask(*idle)

        assert await ended(idle[0]) == b""

        assert under_test.counted.counts["connections_expired", "idle"] == 1
        under_test.apis.may_answer.set()
        assert await parked.readexactly(4)


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_client_that_sends_too_many_requests_gets_every_answer_at_the_rate_it_may_have() -> None:
    async with relayed_echoes(max_requests_per_second=40) as under_test:
        reader, writer = await under_test.connect()
        await ask(reader, writer, 0)
        began = asyncio.get_running_loop().time()

        for number in range(1, 61):
            assert await ask(reader, writer, number) == response(number)

        assert asyncio.get_running_loop().time() - began >= 0.5 - 0.01  # 40 at once, 20 more earned, one owed
        assert under_test.counted.counts["connection_throttles",] > 0


@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_client_that_is_throttled_slows_nobody_else() -> None:
    async with relayed_echoes(max_requests_per_second=10) as under_test:
        eager, writer = await under_test.connect()
        writer.write(b"".join(map(request, range(20))))
        await eager.readexactly(10 * len(response(0)))
        await until(lambda: under_test.counted.counts["connection_throttles",] == 1)

        others = [await ask(*await under_test.connect()) for _ in range(5)]

        assert others == [response(1)] * 5
        assert await eager.readexactly(10 * len(response(0)))
