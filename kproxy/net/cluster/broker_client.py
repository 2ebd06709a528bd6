"""`BrokerClient`: one connection of kproxy's own to a backing broker.

Requests may be pipelined; a Kafka broker answers them in order, so answers are matched first in, first out,
and the correlation id only proves it. Whatever goes wrong ends the connection, and who waits is told why.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, Final, TypeVar, cast

from kproxy import __version__
from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable, MalformedMessage, PeerViolation
from kproxy.net.authentication.sasl_session import KEYS_TO_SET, SaslSession
from kproxy.net.authentication.turned_away import turned_away
from kproxy.net.broker_failures import AuthenticationExpected, BrokerFailure
from kproxy.net.cluster.prepared_request import PreparedRequest
from kproxy.net.cluster.read_buffers import ReadBuffers
from kproxy.net.cluster.response_frames import ResponseFrames
from kproxy.net.cluster.throttle import THROTTLED, Throttle, throttle_ms_in
from kproxy.net.dialing import TlsContext, connect
from kproxy.settings.addresses import HostPort
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wording import counted

Answer = TypeVar("Answer")

CLIENT_ID: Final = "kproxy"
"""The client id of kproxy's own requests: what quotas and request logs of the backing cluster show. Joins of the
fleet's group have another one, which is in the member id."""

NEGOTIATION_VERSION: Final = 3
"""The ApiVersions version to begin with: the first with a client software name, known since Kafka 2.4."""

CLOSED_BY_KPROXY: Final = "closed_by_kproxy"
CLOSED_BY_BROKER: Final = "closed_by_broker"
"""Reasons of a `BrokerFailure` that are part of normal life when nothing is owed."""

MAX_CORRELATION_ID: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of one connection of kproxy's own."""

    connect_timeout_ms: int = 5_000
    """For the name lookup, the connection, the negotiation of versions and the authentication together."""
    request_timeout_ms: int = 10_000
    """For one answer, beyond the time that the request itself allows the broker to wait."""
    frame_max_bytes: int = 100 * 1024 * 1024


@dataclass(slots=True, eq=False)
class _OwedAnswer:
    correlation_id: int
    throttle_ms_in: Callable[[memoryview], int]
    read: Callable[[memoryview], object]
    """Makes of the frame what the future gets. Raises MalformedMessage."""
    answer: asyncio.Future[Any]
    timer: asyncio.TimerHandle


class BrokerClient(asyncio.BufferedProtocol):
    """An open connection; made by `dial`, and of no more use once `is_open` is false.

    A broker whose quotas are exceeded says so in an answer, and reads nothing more from the connection until the
    throttle time is over (KIP-219); until then nothing is sent.

    `on_end`, if set, is called once, when the connection ends, with the reason; `on_throttled` with each throttle time.
    """

    def __init__(self, peer: str, limits: ConnectionLimits, read_buffers: ReadBuffers) -> None:
        self.on_end: Callable[[BrokerFailure], None] | None = None
        self.on_throttled: Callable[[int], None] | None = None
        self.peer = peer
        self.version_ranges: Mapping[int, tuple[int, int]] = {}
        """What the broker serves, by API key: (lowest, highest) version. Empty before `negotiate`."""
        self._limits = limits
        self._frames = ResponseFrames(limits.frame_max_bytes, read_buffers)
        self._owed: deque[_OwedAnswer] = deque()
        self._last_correlation_id = 0
        self._is_negotiated = False
        self._is_trusted = False
        self._is_encrypted = False
        self._session: SaslSession | None = None
        self._throttle = Throttle()
        self._transport: asyncio.Transport | None = None
        self._closed_because: BrokerFailure | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent: until the loop has its next turn, the next one goes out."""
        # uvloop raises from write() when the peer has closed and connection_lost is still to come.
        transport = self._transport
        return self._closed_because is None and transport is not None and not transport.is_closing()

    @property
    def in_flight_count(self) -> int:
        """How many answers the broker owes, abandoned requests included."""
        return len(self._owed)

    @property
    def owed_within_ms(self) -> int:
        """How much longer the broker may take for all that it owes, in milliseconds."""
        now_s = asyncio.get_running_loop().time()
        return ceil(1000 * max((owed.timer.when() - now_s for owed in self._owed), default=0.0))

    @property
    def throttled_ms(self) -> int:
        """How much longer the broker reads nothing from this connection, in milliseconds; 0 when it does."""
        return self._throttle.remaining_ms

    def has_version_for(self, api_key: int) -> bool:
        """Return whether there is a version of the API that both sides know."""
        known_min, known_max = codecs.valid_versions(api_key)
        broker_min, broker_max = self.version_ranges.get(api_key, (0, -1))
        return max(known_min, broker_min) <= min(known_max, broker_max)

    def version_for(self, api_key: int) -> int:
        """Return the highest version of the API that both sides know.

        Raises:
            BrokerUnavailable: there is none.
        """
        known_min, known_max = codecs.valid_versions(api_key)
        if not self.has_version_for(api_key):
            served = self.version_ranges.get(api_key, "none")
            expected = f"expected one of {known_min} to {known_max}"
            raise BrokerUnavailable(
                f"{self.peer} serves versions {served} of {ApiKey(api_key).name}, {expected}"
            )
        return min(known_max, self.version_ranges[api_key][1])

    async def request(
        self,
        api_key: int,
        message: Message,
        version: int | None = None,
        *,
        broker_wait_ms: int = 0,
        client_id: str = CLIENT_ID,
    ) -> Message:
        """Send `message` and return the broker's answer, decoded; `version` defaults to `version_for`.

        A caller that is cancelled leaves the connection usable: the answer is dropped when it comes.
        `broker_wait_ms` is what the request lets the broker wait (a long poll), beside the request timeout.
        `client_id` is what the broker shows of who asks.

        Raises:
            BrokerUnavailable: the connection is closed, breaks, or has no version in common; the answer does
                not come in time, cannot be decoded or is somebody else's; the broker is throttled for too long.
        """
        chosen = self.version_for(api_key) if version is None else version
        await self.pass_throttle()
        return await self._send(api_key, chosen, message, broker_wait_ms, client_id)

    async def repeat(self, request: PreparedRequest, read: Callable[[memoryview], Answer]) -> Answer:
        """Send `request` and return what `read` makes of the answer's frame, which is without its length.

        The frame is good for nothing after `read`, which raises MalformedMessage when it cannot be read.

        Raises:
            BrokerUnavailable: see `request`.
        """
        await self.pass_throttle()
        transport = self._open_transport()
        correlation_id = self._next_correlation_id()
        owed = self._owe(correlation_id, (request.api_key, request.version), read, wait_ms=0)
        transport.writelines(request.chunks(correlation_id))
        answer: Answer = await owed.answer
        return answer

    async def pass_throttle(self) -> None:
        """Return when requests may be sent: at once, unless the broker reads none for the time, or asks who this is.

        Raises:
            BrokerFailure: that lasts longer than an answer may take.
        """
        patience_ms = self._limits.request_timeout_ms
        while throttled_ms := self.throttled_ms:
            if patience_ms <= 0:
                self.require_throttle_within(0)
            pause_ms = min(throttled_ms, patience_ms)
            patience_ms -= pause_ms
            await asyncio.sleep(pause_ms / 1000)
        if self._session is not None:
            await self._session.renewed(self)

    def require_throttle_within(self, patience_ms: int) -> None:
        """Return if the broker reads requests again within `patience_ms`. Raises BrokerFailure."""
        throttled_ms = self.throttled_ms
        if throttled_ms > patience_ms:
            detail = f"{self.peer} takes no requests for {throttled_ms} ms more: the quotas of client id"
            raise BrokerFailure(THROTTLED, f"{detail} '{CLIENT_ID}' are exceeded")

    async def negotiate(self, session: SaslSession | None = None) -> None:
        """Learn what the broker serves, and authenticate with `session`; before that no other request makes sense.

        A broker too old for version 3 answers with error 35, and is asked in version 0 (KIP-511).

        Raises:
            BrokerUnavailable: see `request`; an AuthenticationRefused when the broker does not take the credentials.
        """
        request = ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version=__version__)
        response = await self._ask_api_versions(request, NEGOTIATION_VERSION)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            response = await self._ask_api_versions(ApiVersionsRequest(), 0)
        if response.error_code != ErrorCode.NONE:
            detail = f"{self.peer} answered ApiVersions with error {response.error_code}"
            raise self._end(BrokerFailure("api_versions_refused", detail))
        self.version_ranges = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        self._is_negotiated = True
        if session is not None:
            await self.authenticate(session)

    async def authenticate(self, session: SaslSession) -> None:
        """Prove who kproxy is, now and in time again; behind `negotiate`. Raises as `SaslSession.begin`."""
        await session.begin(self)
        self._session, self._is_trusted = session, True

    async def ask_at_once(self, api_key: int, message: Message, version: int) -> Message:
        """Return the answer to a part of an exchange of SASL, behind all that is owed. Raises as `request`."""
        return await self._send(api_key, version, message, self.owed_within_ms, CLIENT_ID)

    def close(self, because: BrokerFailure | None = None) -> None:
        """Close the connection; those who wait for answers get a BrokerUnavailable: `because`, if it is told."""
        closed = BrokerFailure(CLOSED_BY_KPROXY, f"the connection to {self.peer} was closed by kproxy")
        self._end(because or closed)

    # ------------------------------------------------ asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have every method of asyncio.Transport, but are no instances of it.
        self._transport = cast("asyncio.Transport", transport)
        self._is_encrypted = transport.get_extra_info("ssl_object") is not None

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - what is awaited says more than a hint
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._closed_because is not None:
            return
        try:
            for frame in self._frames.filled(nbytes):
                self._settle(frame)
        except PeerViolation as violation:
            refusal = AuthenticationExpected if violation.reason == "tls_on_plaintext" else BrokerFailure
            self._end(refusal(violation.reason, f"{self.peer}: {violation.detail}"))
        except MalformedMessage as malformed:
            detail = f"{self.peer} sent an answer that cannot be read: {malformed}"
            self._end(BrokerFailure("malformed_response", detail))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(self._reason_of_loss(exc))

    # ------------------------------------------------ private

    async def _ask_api_versions(self, request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        response = await self._send(ApiKey.API_VERSIONS, version, request, 0, CLIENT_ID)
        assert isinstance(response, ApiVersionsResponse)
        return response

    async def _send(
        self, api_key: int, version: int, message: Message, broker_wait_ms: int, client_id: str
    ) -> Message:
        transport = self._open_transport()
        correlation_id = self._next_correlation_id()
        chunks = codecs.encode_request(api_key, version, correlation_id, client_id, message)
        read = partial(_decoded, api_key, version)
        owed = self._owe(correlation_id, (api_key, version), read, broker_wait_ms)
        transport.writelines(chunks)
        answer: Message = await owed.answer
        return answer

    def _open_transport(self) -> asyncio.Transport:
        if self._closed_because is not None:
            raise self._closed_because.again()
        if self._transport is None or not self.is_open:
            raise BrokerFailure(CLOSED_BY_BROKER, f"{self.peer} closed the connection")
        return self._transport

    def _next_correlation_id(self) -> int:
        self._last_correlation_id = self._last_correlation_id % MAX_CORRELATION_ID + 1
        return self._last_correlation_id

    def _owe(
        self, correlation_id: int, api: tuple[int, int], read: Callable[[memoryview], object], wait_ms: int
    ) -> _OwedAnswer:
        loop = asyncio.get_running_loop()
        timeout_ms = self._limits.request_timeout_ms + wait_ms
        timer = loop.call_later(timeout_ms / 1000, self._end_late, api[0], timeout_ms)
        owed = _OwedAnswer(correlation_id, partial(throttle_ms_in, *api), read, loop.create_future(), timer)
        self._owed.append(owed)
        return owed

    def _settle(self, frame: memoryview) -> None:
        if self._closed_because is not None:
            return
        if not self._owed:
            raise MalformedMessage("an answer to nothing that was asked")
        owed = self._owed[0]
        correlation_id = int.from_bytes(frame[:4], signed=True)
        if correlation_id != owed.correlation_id:
            raise MalformedMessage(f"answers request {correlation_id} while {owed.correlation_id} is owed")
        # An abandoned request's answer may be large, and nobody will look at it.
        is_awaited = not owed.answer.done()
        answer = owed.read(frame) if is_awaited else None
        self._owed.popleft()
        owed.timer.cancel()
        self._is_trusted = self._is_negotiated
        throttle_ms = owed.throttle_ms_in(frame) or getattr(answer, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._throttle.begin(throttle_ms)
            if self.on_throttled is not None:
                self.on_throttled(throttle_ms)
        if is_awaited:
            owed.answer.set_result(answer)

    def _end_late(self, api_key: int, timeout_ms: int) -> None:
        detail = f"{self.peer} did not answer {ApiKey(api_key).name} within {timeout_ms} ms"
        self._end(BrokerFailure("request_timeout", detail))

    def _end(self, reason: BrokerFailure) -> BrokerFailure:
        if self._closed_because is not None:
            return reason
        self._closed_because = reason
        if self._transport is not None:
            self._transport.abort()
        while self._owed:
            owed = self._owed.popleft()
            owed.timer.cancel()
            if not owed.answer.done():
                owed.answer.set_exception(reason.again())
        if self.on_end is not None:
            self.on_end(reason)
        return reason

    def _reason_of_loss(self, exc: Exception | None) -> BrokerFailure:
        if not self._is_negotiated:
            return turned_away(self.peer, exc, is_encrypted=self._is_encrypted)
        if not self._is_trusted and self._owed:
            detail = "closed the connection at the first request: it may expect SASL authentication"
            return AuthenticationExpected("closed_at_first_request", f"{self.peer} {detail}; {KEYS_TO_SET}")
        because = f" ({exc})" if exc else ""
        if self._frames.is_mid_frame:
            detail = f"{self.peer} closed the connection in the middle of an answer{because}"
            return BrokerFailure("dropped_mid_frame", detail)
        detail = f"{self.peer} closed the connection, owing {counted(len(self._owed), 'answer')}{because}"
        return BrokerFailure("dropped_owing_answers" if self._owed else CLOSED_BY_BROKER, detail)


def _decoded(api_key: int, version: int, frame: memoryview) -> Message:
    return codecs.decode_response(api_key, version, frame)[1]


async def dial(
    address: HostPort,
    limits: ConnectionLimits,
    read_buffers: ReadBuffers | None = None,
    tls: TlsContext | None = None,
    session: SaslSession | None = None,
) -> BrokerClient:
    """Return a connection to `address` whose versions are negotiated; `read_buffers` may be other connections', too.

    With `tls` it is encrypted; `session` is a new one, and authenticates.

    Raises:
        BrokerFailure: the text names the address and what happened there; it is an AuthenticationExpected when
            the broker turned the connection away as those do that expect TLS, or did not take the credentials.
    """
    buffers = read_buffers or ReadBuffers()
    try:
        async with asyncio.timeout(limits.connect_timeout_ms / 1000):
            client = await connect(
                address,
                lambda: BrokerClient(str(address), limits, buffers),
                timeout_ms=limits.connect_timeout_ms,
                tls=tls,
            )
            return await _negotiated(client, session)
    except TimeoutError:
        detail = f"{address} did not answer within {limits.connect_timeout_ms} ms"
        raise BrokerFailure("connect_timeout", detail) from None


async def _negotiated(client: BrokerClient, session: SaslSession | None) -> BrokerClient:
    try:
        await client.negotiate(session)
    except BaseException:
        client.close()
        raise
    return client
