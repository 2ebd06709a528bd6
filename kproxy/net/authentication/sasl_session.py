"""`SaslSession`: one connection of kproxy's own proves who it is, and again before the broker forgets it (KIP-368)."""

import asyncio
import time
from collections.abc import Callable
from math import inf
from typing import Final, Protocol

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable
from kproxy.net.authentication.credentials import Credentials
from kproxy.net.broker_failures import AuthenticationRefused, BrokerFailure
from kproxy.net.tasks import TaskKeeper
from kproxy.security.scram import LoginFailed
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse

KEYS_TO_SET: Final = (
    "set upstream.security.protocol to SASL_PLAINTEXT or SASL_SSL, upstream.sasl.mechanism, upstream.sasl.username "
    "and upstream.sasl.password"
)
"""What lets kproxy's own connections in where brokers ask who connects."""

HANDSHAKE_VERSION: Final = 1
"""The first whose tokens come in SaslAuthenticate requests, known since Kafka 1.0."""

USED_PART: Final = 0.85
"""Of a session's lifetime, after which the next request authenticates first: what Kafka's own clients do at least."""

SHORTEST_PAUSE_S: Final = 1.1
"""A broker refuses to authenticate a connection twice in a second (`KafkaChannel.maybeBeginServerReauthentication`)."""


class Connection(Protocol):
    """What a session asks on: `BrokerClient`, which has sessions, and so stands above this module."""

    peer: str

    def version_for(self, api_key: int) -> int:
        """Return the highest version of an API that both sides know. Raises BrokerUnavailable."""
        ...

    async def ask_at_once(self, api_key: int, message: Message, version: int) -> Message:
        """Return the answer to a request that waits for nothing. Raises BrokerUnavailable."""
        ...

    def close(self, because: BrokerFailure) -> None:
        """End the connection."""
        ...


class SaslSession:
    """Authenticates a connection once with `begin`, and then in time whenever it is to be used.

    A broker looks at the lifetime of a session only when a request comes, so that a connection of which nobody wants
    anything may outlast it, and authenticates with the next request.
    """

    def __init__(
        self, credentials: Credentials, tasks: TaskKeeper, *, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._credentials = credentials
        self._tasks = tasks
        self._due_s = inf
        self._renewal: asyncio.Task[None] | None = None

    async def begin(self, connection: Connection) -> None:
        """Authenticate.

        Raises:
            AuthenticationRefused: the broker does not take these credentials, or is not who it should be.
            BrokerUnavailable: the connection broke.
        """
        login = await self._credentials.login()
        await self._agree(connection)
        token: bytes | None = login.begin()
        lifetime_ms = 0
        while token is not None:
            response = await self._say(connection, token)
            lifetime_ms = response.session_lifetime_ms
            try:
                token = login.answer(response.auth_bytes)
            except LoginFailed as failed:
                raise AuthenticationRefused("login_failed", f"{connection.peer}: {failed}") from None
        pause_s = max(SHORTEST_PAUSE_S, USED_PART * lifetime_ms / 1000)
        self._due_s = self._seconds() + pause_s if lifetime_ms > 0 else inf

    async def renewed(self, connection: Connection) -> None:
        """Return when a request may be sent: at once, unless the session's lifetime is nearly over.

        A caller that is cancelled does not cut the exchange short. What the broker does not take ends the connection.
        """
        while self._renewal is not None or self._seconds() >= self._due_s:
            if self._renewal is None:
                name = f"authenticate at {connection.peer}"
                self._renewal = self._tasks.spawn(self._renew(connection), name=name)
                self._renewal.add_done_callback(self._end)
            await asyncio.wait([self._renewal])

    async def _renew(self, connection: Connection) -> None:
        self._due_s = inf
        try:
            await self.begin(connection)
        except BrokerFailure as failure:
            connection.close(failure)

    def _end(self, renewal: asyncio.Task[None]) -> None:
        self._renewal = None
        if renewal.cancelled():
            self._due_s = inf

    async def _agree(self, connection: Connection) -> None:
        mechanism = self._credentials.mechanism
        request = SaslHandshakeRequest(mechanism=mechanism)
        response = await connection.ask_at_once(ApiKey.SASL_HANDSHAKE, request, HANDSHAKE_VERSION)
        assert isinstance(response, SaslHandshakeResponse)
        if response.error_code == ErrorCode.NONE:
            return
        refusal = f"refused SaslHandshake with {known_code(response.error_code).name} ({response.error_code})"
        detail = f"{connection.peer} {refusal}"
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            enabled = ", ".join(response.mechanisms) or "none"
            detail = (
                f"{connection.peer} does not enable {mechanism}, but {enabled}: set upstream.sasl.mechanism"
            )
        elif response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            detail = f"{connection.peer} {refusal}: it may not ask for SASL; set upstream.security.protocol"
        raise AuthenticationRefused("handshake_refused", detail)

    async def _say(self, connection: Connection, token: bytes) -> SaslAuthenticateResponse:
        try:
            version = connection.version_for(ApiKey.SASL_AUTHENTICATE)
        except BrokerUnavailable as lacking:
            raise AuthenticationRefused("handshake_refused", str(lacking)) from None
        request = SaslAuthenticateRequest(auth_bytes=token)
        response = await connection.ask_at_once(ApiKey.SASL_AUTHENTICATE, request, version)
        assert isinstance(response, SaslAuthenticateResponse)
        if response.error_code != ErrorCode.NONE:
            words = response.error_message or known_code(response.error_code).name
            mechanism = self._credentials.mechanism
            detail = f"{connection.peer} does not take kproxy's own credentials: {words} (upstream.sasl.*, {mechanism})"
            raise AuthenticationRefused("authentication_failed", detail)
        return response
