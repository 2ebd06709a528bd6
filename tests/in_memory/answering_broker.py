"""`AnsweringBroker`: a peer on a loopback socket that reads whole Kafka requests and answers as a test tells it."""

import asyncio
import inspect
import ssl
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

from kproxy.settings.addresses import HostPort
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse

Reply = Message | bytes | None
"""A message is encoded in the version of the request; bytes go out as they are; None closes the connection."""

Answer = Callable[[DecodedRequest], Reply | Awaitable[Reply]]


class AnsweringBroker:
    """Answers the requests of a connection one after the other, as a Kafka broker does.

    `answers` are by API key; ApiVersions is answered with `version_ranges` unless `answers` says otherwise. A
    request without an answer closes its connection.
    """

    def __init__(
        self,
        answers: Mapping[int, Answer] | None = None,
        *,
        version_ranges: Mapping[int, tuple[int, int]] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self.answers: dict[int, Answer] = dict(answers or {})
        self.version_ranges = dict(version_ranges or {})
        self.requests: list[DecodedRequest] = []
        self.accepted_count = 0
        self._port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._conversations: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def address(self) -> HostPort:
        """Where it listens; the same after `stop` and `start`."""
        return HostPort("127.0.0.1", self._port)

    async def start(self) -> None:
        """Listen, on the port it had before if it had one."""
        self._server = await asyncio.start_server(self._converse, "127.0.0.1", self._port, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and every connection."""
        assert self._server is not None
        self._server.close()
        self.drop_connections()
        conversations = list(self._conversations)
        for conversation in conversations:
            conversation.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)

    async def swap_places(self, other: "AnsweringBroker") -> None:
        """Stop both, and start each where the other one was."""
        await self.stop()
        await other.stop()
        self._port, other._port = other._port, self._port
        await self.start()
        await other.start()

    def drop_connections(self) -> None:
        """Close every connection and go on listening."""
        for writer in self._writers:
            writer.transport.abort()

    def send(self, data: bytes) -> None:
        """Send on every connection what nobody asked for."""
        for writer in self._writers:
            writer.write(data)

    def asked(self, api_key: int) -> list[DecodedRequest]:
        """Return the requests of one API so far."""
        return [request for request in self.requests if request.api_key == api_key]

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Return when `is_so()`; looked at when a request came and when a connection ended. At most ten seconds."""
        async with asyncio.timeout(10), self._arrived:
            await self._arrived.wait_for(is_so)

    async def until_asked(self, api_key: int, count: int = 1) -> DecodedRequest:
        """Return the `count`th request of an API once it has come. At most ten seconds."""
        await self.until(lambda: len(self.asked(api_key)) >= count)
        return self.asked(api_key)[count - 1]

    async def until_connected(self, count: int) -> None:
        """Return when exactly `count` connections are open. At most ten seconds."""
        await self.until(lambda: len(self._writers) == count)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._conversations.add(task)
        self._writers.add(writer)
        self.accepted_count += 1
        try:
            while await self._answer_next(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # A cancelled conversation is over all the same; asyncio would report its task as failed.
            pass
        finally:
            self._conversations.discard(task)
            self._writers.discard(writer)
            writer.transport.abort()
            async with self._arrived:
                self._arrived.notify_all()

    async def _answer_next(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        length = int.from_bytes(await reader.readexactly(4))
        request = codecs.decode_request(await reader.readexactly(length))
        self.requests.append(request)
        async with self._arrived:
            self._arrived.notify_all()
        answer = self.answers.get(request.api_key)
        if answer is None:
            answer = self._answer_api_versions if request.api_key == ApiKey.API_VERSIONS else lambda _: None
        reply = answer(request)
        if inspect.isawaitable(reply):
            reply = await reply
        if reply is None:
            return False
        writer.write(reply if isinstance(reply, bytes) else response_bytes(request, reply))
        return True

    def _answer_api_versions(self, _: DecodedRequest) -> Message:
        ranges: dict[int, tuple[int, int]] = {ApiKey.API_VERSIONS: (0, 3), **self.version_ranges}
        keys = [
            ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items()
        ]
        return ApiVersionsResponse(api_keys=keys)


def response_bytes(request: DecodedRequest, message: Message, *, version: int | None = None) -> bytes:
    """Return the frame that answers `request` with `message`."""
    chosen = request.api_version if version is None else version
    return b"".join(codecs.encode_response(request.api_key, chosen, request.correlation_id, message))
