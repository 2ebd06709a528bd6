"""A peer on a loopback socket that says exactly what a test tells it, for everything a real broker never does."""

import asyncio
import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

TURNS_TO_ACCEPT: Final = 4
"""In how many turns of its loop asyncio makes a transport of a connection that waits to be accepted."""


class ScriptedBroker:
    """Accepts connections; what came is in `received`, what goes out the test writes.

    `reply`, when given, is called with each received chunk and returns bytes to send back. It listens with `tls`.
    """

    def __init__(
        self, reply: Callable[[bytes], bytes] | None = None, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self._reply = reply
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._arrived = asyncio.Condition()
        self.received = b""
        self.writers: list[asyncio.StreamWriter] = []
        self._conversations: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        for _ in range(TURNS_TO_ACCEPT):
            await asyncio.sleep(0)
        self._server.close()
        for writer in self.writers:
            writer.transport.abort()

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def until(self, is_enough: Callable[[], bool]) -> None:
        """Return when `is_enough()`; looked at whenever something came. At most ten seconds."""
        async with asyncio.timeout(10), self._arrived:
            await self._arrived.wait_for(is_enough)

    async def until_received(self, count: int) -> bytes:
        """Return everything received, once that is `count` bytes or more."""
        await self.until(lambda: len(self.received) >= count)
        return self.received

    async def until_connections(self, count: int) -> None:
        """Return when `count` connections have been accepted."""
        await self.until(lambda: len(self.writers) >= count)

    @property
    def ended_count(self) -> int:
        """How many connections the other side has closed."""
        return sum(conversation.done() for conversation in self._conversations)

    def send(self, data: bytes) -> None:
        """Send on the newest connection."""
        self.writers[-1].write(data)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Know of a connection as soon as it is there: one that comes in the last moment is closed, too."""
        self.writers.append(writer)
        self._conversations.append(asyncio.get_running_loop().create_task(self._converse(reader, writer)))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._notify()
        try:
            while data := await reader.read(1 << 16):
                self.received += data
                if self._reply is not None:
                    writer.write(self._reply(data))
                await self._notify()
        except ConnectionError:
            pass

    async def _notify(self) -> None:
        async with self._arrived:
            self._arrived.notify_all()
