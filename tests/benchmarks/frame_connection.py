"""A socket that sends ready-made frames and only counts what comes back: as little client as Python can be."""

import socket
from typing import Final, Self

from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest

TIMEOUT_SECONDS: Final = 30.0
RECEIVE_BYTES: Final = 256 * 1024
LENGTH_BYTES: Final = 4
CORRELATION_ID: Final = 1
"""Of every request: responses come in order, and nobody here looks at it."""
API_VERSIONS_VERSION: Final = 3

_buffer: Final = memoryview(bytearray(RECEIVE_BYTES))


def request_frame(api_key: int, api_version: int, message: Message) -> bytes:
    """A request with its length, ready to be sent any number of times."""
    return b"".join(codecs.encode_request(api_key, api_version, CORRELATION_ID, "benchmark", message))


class ConnectionEnded(RuntimeError):
    """The other end closed a connection that was being measured."""


class ResponseCounter:
    """Counts the responses in what a socket gives, wherever that is cut."""

    __slots__ = ("_begun_length", "_body_left")

    def __init__(self) -> None:
        self._body_left = 0
        self._begun_length = b""

    def count(self, received: memoryview) -> int:
        """How many responses end in `received`, which follows what was given before."""
        if len(received) < self._body_left:
            self._body_left -= len(received)
            return 0
        ended = 1 if self._body_left else 0
        rest = received[self._body_left :]
        data = memoryview(self._begun_length + rest) if self._begun_length else rest
        self._body_left, self._begun_length = 0, b""
        return ended + self._walk(data)

    def _walk(self, data: memoryview) -> int:
        position, size, ended = 0, len(data), 0
        while size - position >= LENGTH_BYTES:
            position += LENGTH_BYTES + int.from_bytes(data[position : position + LENGTH_BYTES], "big")
            if position > size:
                self._body_left = position - size
                return ended
            ended += 1
        self._begun_length = bytes(data[position:])
        return ended


class FrameConnection:
    """One connection, introduced with ApiVersions as every client does."""

    __slots__ = ("_counter", "received_bytes", "socket")

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._counter = ResponseCounter()
        self.received_bytes = 0
        """Everything that came so far, lengths included."""
        introduction = ApiVersionsRequest(
            client_software_name="kproxy-benchmark", client_software_version="1"
        )
        self.exchange(request_frame(ApiKey.API_VERSIONS, API_VERSIONS_VERSION, introduction))

    def fileno(self) -> int:
        """For selectors."""
        return self.socket.fileno()

    def exchange(self, frame: bytes) -> None:
        """Send a request and wait for its response."""
        self.socket.sendall(frame)
        while not self.receive():
            pass

    def receive(self) -> int:
        """Receive what has come, at most 256 KiB; how many responses have ended in it.

        Raises `ConnectionEnded`, and what the socket raises.
        """
        size = self.socket.recv_into(_buffer)
        if not size:
            raise ConnectionEnded("the relay or the broker closed a connection")
        self.received_bytes += size
        return self._counter.count(_buffer[:size])

    def close(self) -> None:
        """Close it. May be called again."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
