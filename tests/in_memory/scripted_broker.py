"""A peer on a loopback socket that says exactly what a test tells it, for everything a real broker never does."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self


class ScriptedBroker:
    """Accepts connections; what came is in `received`, what goes out the test writes.

    `reply`, when given, is called with each received chunk and returns bytes to send back.
    """

    def __init__(self, reply: Callable[[bytes], bytes] | None = None) -> None:
        self._reply = reply
        self._server: asyncio.Server | None = None
        self._arrived = asyncio.Condition()
        self.received = b""
        self.writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
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

    def send(self, data: bytes) -> None:
        """Send on the newest connection."""
        self.writers[-1].write(data)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
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
