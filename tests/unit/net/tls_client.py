"""A client with TLS of its own hands, which neither reads, closes nor answers what it is not told to."""

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import Self

from tests.unit.net.tls_contexts import Fixed, dialling

BIND_HOST = "127.0.0.1"
_AT_ONCE = 1 << 18


class TlsClient:
    """A connection that has shaken hands."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tls: Fixed) -> None:
        self._reader, self._writer = reader, writer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._end = tls.context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        self.was_told = False
        """Whether the other end has said close_notify."""

    @classmethod
    async def connected(
        cls, port: int, tls: Fixed | None = None, *, receives_bytes: int | None = None
    ) -> Self:
        """Return one whose handshake is done. Raises ssl.SSLError, ConnectionError.

        What it has not read is in its host, up to some `receives_bytes`, and in the reader, up to twice its limit.
        """
        own_end = socket.socket()
        own_end.setblocking(False)
        if receives_bytes is not None:
            own_end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives_bytes)
        try:
            await asyncio.get_running_loop().sock_connect(own_end, (BIND_HOST, port))
        except BaseException:
            own_end.close()
            raise
        limit = _AT_ONCE if receives_bytes is None else receives_bytes
        client = cls(*await asyncio.open_connection(sock=own_end, limit=limit), tls or dialling())
        while True:
            try:
                client._end.do_handshake()
            except ssl.SSLWantReadError:
                await client._flush()
                await client._hear()
            else:
                await client._flush()
                return client

    async def send(self, data: bytes) -> None:
        """Send `data`."""
        left = memoryview(data)
        while left:
            left = left[self._end.write(left) :]
        await self._flush()

    async def send_raw(self, data: bytes) -> None:
        """Send `data` as they are, without TLS."""
        self._writer.write(data)
        await self._writer.drain()

    async def say_last_word(self) -> None:
        """Send close_notify, and leave the connection open."""
        with suppress(ssl.SSLWantReadError):
            self._end.unwrap()
        await self._flush()

    def send_fin(self) -> None:
        """Close the writing side without close_notify."""
        self._writer.write_eof()

    async def read_exactly(self, count: int) -> bytes:
        """Return `count` bytes; raises ConnectionError when the other end closes before."""
        received = bytearray()
        while len(received) < count:
            try:
                received += self._end.read(count - len(received))
            except ssl.SSLWantReadError:
                await self._hear()
        return bytes(received)

    async def read_to_end(self) -> bytes:
        """Return what still comes until the other end closes, with close_notify or without."""
        received = bytearray()
        while True:
            try:
                chunk = self._end.read(_AT_ONCE)
            except ssl.SSLWantReadError:
                try:
                    await self._hear()
                except ConnectionError:
                    return bytes(received)
            except ssl.SSLZeroReturnError:
                self.was_told = True
                return bytes(received)
            else:
                if not chunk:
                    self.was_told = True
                    return bytes(received)
                received += chunk

    def drop_what_comes(self) -> None:
        """Read on, and drop it as it is."""
        self._dropping = asyncio.get_running_loop().create_task(self._drop())

    async def _drop(self) -> None:
        while await self._reader.read(_AT_ONCE):
            pass

    def close(self) -> None:
        """Close the connection, without close_notify."""
        self._writer.close()

    async def _hear(self) -> None:
        data = await self._reader.read(_AT_ONCE)
        if not data:
            raise ConnectionResetError("the other end has closed")
        self._incoming.write(data)

    async def _flush(self) -> None:
        self._writer.write(self._outgoing.read())
        await self._writer.drain()
