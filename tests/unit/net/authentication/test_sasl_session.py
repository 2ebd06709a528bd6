"""One connection that authenticates, and goes on doing so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.authentication.credentials import PasswordCredentials
from kproxy.net.authentication.sasl_session import SaslSession
from kproxy.net.broker_failures import AuthenticationRefused
from kproxy.net.cluster.broker_client import BrokerClient, ConnectionLimits, dial
from kproxy.net.tasks import TaskKeeper
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.answering_broker import Reply
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.asking_broker import AskingBroker
from tests.worlds.backing import ask, cluster_named

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

LIMITS = ConnectionLimits(connect_timeout_ms=2_000, request_timeout_ms=2_000, frame_max_bytes=10_000)
LIFETIME_MS = 10_000
DUE_MS = 8_500
"""Brokers' sessions, and when a connection authenticates again: at 85 %, as Kafka's own clients do at the earliest."""
LOGIN = ["SASL_HANDSHAKE", "SASL_AUTHENTICATE"]


class Seconds(ManualClock):
    """A clock that tells seconds."""

    def __call__(self) -> float:
        return self.now_ms() / 1000


@asynccontextmanager
async def connected(
    broker: AskingBroker,
    *,
    clock: Seconds | None = None,
    mechanism: str = "PLAIN",
    password: str = "pencil",
) -> AsyncIterator[BrokerClient]:
    """A connection that authenticates, and looks at `clock`."""
    tasks = TaskKeeper()
    credentials = PasswordCredentials(mechanism, "kproxy", lambda: password)
    session = SaslSession(credentials, tasks, seconds=clock or Seconds())
    try:
        yield await dial(broker.address, LIMITS, session=session)
    finally:
        await tasks.close()


async def test_a_connection_says_who_it_is_before_it_asks_anything() -> None:
    async with AskingBroker() as broker, connected(broker) as client:
        # When
        await ask(client)

        # Then
        assert broker.order == ["API_VERSIONS", *LOGIN, "METADATA"]


@pytest.mark.parametrize(
    ("mechanism", "password", "words"),
    [
        ("PLAIN", "incorrect", "does not take kproxy's own credentials: Authentication failed: wrong"),
        (
            "SCRAM-SHA-256",
            "pencil",
            "does not enable SCRAM-SHA-256, but PLAIN, GSSAPI: set upstream.sasl.mech",
        ),
    ],
)
async def test_who_is_turned_away_is_told_in_the_brokers_words_what_to_set(
    mechanism: str, password: str, words: str
) -> None:
    async with AskingBroker() as broker:
        # When
        with pytest.raises(AuthenticationRefused, match=words) as refusal:
            await connected(broker, mechanism=mechanism, password=password).__aenter__()

        # Then
        await broker.until_connected(0)
        assert not {"pencil", password} & set(str(refusal.value).split())


async def test_a_listener_that_asks_nobody_is_told_of() -> None:
    async with AskingBroker() as broker:
        # Given
        refused = SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        broker.answers[ApiKey.SASL_HANDSHAKE] = lambda _: refused

        # When, then
        with pytest.raises(AuthenticationRefused, match=r"may not ask for SASL; set upstream\.security"):
            await connected(broker).__aenter__()


async def test_a_broker_that_knows_only_tokens_without_headers_is_told_of() -> None:
    async with AskingBroker() as broker:
        # Given
        del broker.version_ranges[ApiKey.SASL_AUTHENTICATE]

        # When, then
        with pytest.raises(AuthenticationRefused, match="serves versions none of SASL_AUTHENTICATE"):
            await connected(broker).__aenter__()


async def test_without_a_lifetime_one_login_is_enough() -> None:
    async with AskingBroker() as broker, connected(broker) as client:
        # When
        for _ in range(3):
            await ask(client)

        # Then
        assert broker.order == ["API_VERSIONS", *LOGIN, *["METADATA"] * 3]


async def test_before_the_broker_forgets_it_a_connection_says_again_who_it_is() -> None:
    clock = Seconds()
    async with AskingBroker(lifetime_ms=LIFETIME_MS) as broker, connected(broker, clock=clock) as client:
        clock.advance(DUE_MS - 1)
        await ask(client)
        clock.advance(1)

        # When
        await asyncio.gather(*(ask(client) for _ in range(5)))

        # Then
        assert broker.order == ["API_VERSIONS", *LOGIN, "METADATA", *LOGIN, *["METADATA"] * 5]
        assert broker.accepted_count == 1


async def test_nobody_authenticates_twice_in_a_second_however_short_a_session_is() -> None:
    clock = Seconds()
    async with AskingBroker(lifetime_ms=1) as broker, connected(broker, clock=clock) as client:
        # Given
        clock.advance(1_000)
        await ask(client)
        broker.lifetime_ms = 0

        # When
        clock.advance(100)
        await ask(client)

        # Then
        assert broker.order == ["API_VERSIONS", *LOGIN, "METADATA", *LOGIN, "METADATA"]


async def test_a_login_waits_behind_what_the_broker_owes() -> None:
    # Given
    may_answer = asyncio.Event()

    async def answer(request: DecodedRequest) -> Reply:
        await may_answer.wait()
        return cluster_named(str(request.correlation_id))

    clock = Seconds()
    async with AskingBroker(lifetime_ms=LIFETIME_MS) as broker, connected(broker, clock=clock) as client:
        broker.answers[ApiKey.METADATA] = answer
        broker.lifetime_ms = 0
        async with asyncio.TaskGroup() as callers:
            poll = client.request(ApiKey.METADATA, MetadataRequest(), broker_wait_ms=20_000)
            patient = callers.create_task(poll)
            await broker.until_asked(ApiKey.METADATA)
            clock.advance(DUE_MS)

            # When
            behind = callers.create_task(ask(client))
            await broker.until_asked(ApiKey.METADATA)
            may_answer.set()

        # Then
        assert patient.result() is not None
        assert behind.result() is not None
        assert broker.order == ["API_VERSIONS", *LOGIN, "METADATA", *LOGIN, "METADATA"]


async def test_a_caller_that_gives_up_does_not_cut_the_login_short() -> None:
    clock = Seconds()
    async with AskingBroker(lifetime_ms=LIFETIME_MS) as broker, connected(broker, clock=clock) as client:
        # Given
        may_answer, answer = asyncio.Event(), broker.answers[ApiKey.SASL_HANDSHAKE]

        async def slowly(request: DecodedRequest) -> Reply:
            await may_answer.wait()
            reply = answer(request)
            assert isinstance(reply, SaslHandshakeResponse)
            return reply

        broker.answers[ApiKey.SASL_HANDSHAKE] = slowly
        broker.lifetime_ms = 0
        clock.advance(DUE_MS)
        async with asyncio.TaskGroup() as callers:
            impatient = callers.create_task(ask(client))
            patient = callers.create_task(ask(client))
            await broker.until_asked(ApiKey.SASL_HANDSHAKE, 2)

            # When
            impatient.cancel()
            may_answer.set()

        # Then
        assert patient.result() is not None
        assert broker.order == ["API_VERSIONS", *LOGIN, *LOGIN, "METADATA"]


async def test_a_password_that_is_not_taken_any_more_ends_the_connection_with_the_reason() -> None:
    clock = Seconds()
    async with AskingBroker(lifetime_ms=LIFETIME_MS) as broker, connected(broker, clock=clock) as client:
        # Given
        broker.password = "another"
        clock.advance(DUE_MS)

        # When
        with pytest.raises(BrokerUnavailable, match="Authentication failed: wrong"):
            await ask(client)

        # Then
        assert not client.is_open


async def test_when_kproxy_ends_nobody_waits_for_a_login() -> None:
    # Given
    tasks, clock = TaskKeeper(), Seconds()
    session = SaslSession(PasswordCredentials("PLAIN", "kproxy", lambda: "pencil"), tasks, seconds=clock)
    async with AskingBroker(lifetime_ms=LIFETIME_MS) as broker:
        client = await dial(broker.address, LIMITS, session=session)
        clock.advance(DUE_MS)
        await tasks.close()

        # When
        await ask(client)

        # Then
        assert broker.order == ["API_VERSIONS", *LOGIN, "METADATA"]
        client.close()
