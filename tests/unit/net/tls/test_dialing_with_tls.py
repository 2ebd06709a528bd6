"""Dialling brokers with TLS, on real sockets: whom kproxy trusts, what it says, and what it says is wrong."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from kproxy.net.broker_failures import AuthenticationExpected, BrokerFailure
from kproxy.net.cluster.broker_client import ConnectionLimits, dial
from kproxy.net.dialing import TlsContext, connect
from kproxy.net.tls.contexts import TlsTerms
from kproxy.settings.addresses import HostPort
from kproxy.settings.choices import ClientAuth
from tests.in_memory.answering_broker import AnsweringBroker
from tests.unit.net.tls_contexts import dialling, listener_terms, listening, upstream_terms
from tests.worlds.certificate_authority import CertificateAuthority

pytestmark = pytest.mark.parametrize("loop_kind", ["uvloop"])

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


@asynccontextmanager
async def port(
    context: ssl.SSLContext | None, handle: Handler = lambda _reader, _writer: None
) -> AsyncIterator[int]:
    """A server on the loopback, with TLS if it has a context."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handle(reader, writer)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@contextmanager
def alerting_port(context: ssl.SSLContext) -> Iterator[int]:
    """A server for one connection that sends TLS alerts, as Java's do and those of event loops do not."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            with accepted, suppress(OSError), context.wrap_socket(accepted, server_side=True) as secured:
                secured.read()

        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


class Visitor(asyncio.Protocol):
    """A connection that is closed as soon as it is made."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


async def refusal_of(address: HostPort, tls: TlsContext) -> BrokerFailure:
    with pytest.raises(BrokerFailure) as refusal:
        await connect(address, Visitor, timeout_ms=5000, tls=tls)
    return refusal.value


async def test_a_broker_is_asked_for_by_its_name() -> None:
    # Given
    asked: list[str | None] = []
    server = listening()

    def note(_end: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        asked.append(name)

    server.context.sni_callback = note

    # When
    async with port(server.context) as number:
        await connect(HostPort("localhost", number), Visitor, timeout_ms=5000, tls=dialling())

    # Then
    assert asked == ["localhost"]


async def test_a_broker_whose_certificate_has_another_name_is_refused() -> None:
    # Given
    elsewhere = listening(listener_terms("elsewhere", hosts=("broker-7",)))

    # When
    async with port(elsewhere.context) as number:
        failure = await refusal_of(HostPort("localhost", number), dialling())

    # Then
    assert failure.reason == "certificate_name_mismatch"
    assert f"localhost:{number}: its certificate does not name 'localhost'" in failure.detail


async def test_a_broker_of_another_authority_is_refused(tmp_path: Path) -> None:
    # Given
    terms: TlsTerms = replace(upstream_terms(), trust_file=str(CertificateAuthority(tmp_path).file))

    # When
    async with port(listening().context) as number:
        failure = await refusal_of(HostPort("localhost", number), dialling(terms))

    # Then
    assert failure.reason == "certificate_untrusted"
    assert "see upstream.ssl.truststore.location" in failure.detail


async def test_a_broker_that_closes_in_the_handshake_may_speak_plaintext() -> None:
    # Given: a listener of Kafka's takes the handshake for the length of a request, and closes
    def close(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    # When
    async with port(None, close) as number:
        failure = await refusal_of(HostPort("localhost", number), dialling())

    # Then
    assert failure.reason == "handshake_abandoned"
    assert "its listener may speak plaintext" in failure.detail


async def test_a_broker_that_answers_in_plaintext_is_refused() -> None:
    # Given
    def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    # When
    async with port(None, answer) as number:
        failure = await refusal_of(HostPort("localhost", number), dialling())

    # Then
    assert failure.reason == "plaintext_on_tls"


async def test_a_handshake_that_nobody_goes_on_with_ends_with_the_time_to_connect() -> None:
    async with port(None) as number:
        with pytest.raises(BrokerFailure) as refusal:
            await connect(HostPort("127.0.0.1", number), Visitor, timeout_ms=200, tls=dialling())
    assert refusal.value.reason in {"connect_timeout", "unreachable"}


async def test_a_broker_that_wants_a_certificate_says_so_behind_the_handshake() -> None:
    # Given: in TLSv1.3 a client is judged when its own handshake is over
    strict = listening(client_auth=ClientAuth.REQUIRED)

    # When
    with alerting_port(strict.context) as number, pytest.raises(BrokerFailure) as refusal:
        await dial(HostPort("localhost", number), ConnectionLimits(), tls=dialling())

    # Then
    assert refusal.value.reason == "certificate_refused"
    assert "it wants one, and got none; see upstream.ssl.keystore.location" in refusal.value.detail


async def test_a_broker_that_closes_without_a_word_behind_the_handshake_may_want_a_certificate() -> None:
    # Given
    strict = listening(client_auth=ClientAuth.REQUIRED)

    # When
    async with port(strict.context) as number:
        with pytest.raises(BrokerFailure) as refusal:
            await dial(HostPort("localhost", number), ConnectionLimits(), tls=dialling())

    # Then
    assert not isinstance(refusal.value, AuthenticationExpected)
    assert "it may want a certificate of kproxy's (upstream.ssl.keystore.location)" in refusal.value.detail


async def test_a_broker_answers_over_tls() -> None:
    async with AnsweringBroker(
        version_ranges={3: (0, 12)}, tls=listening(client_auth=ClientAuth.REQUIRED).context
    ) as broker:
        # When
        address = HostPort("localhost", broker.address.port)
        client = await dial(address, ConnectionLimits(), tls=dialling(upstream_terms("kproxy")))

        # Then
        assert client.version_ranges[3] == (0, 12)
        client.close()
