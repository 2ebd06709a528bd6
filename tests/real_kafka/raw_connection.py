"""A plain socket that speaks Kafka's protocol, or says what no client of Kafka's would say."""

import contextlib
import itertools
import socket
from types import TracebackType
from typing import Final, Self, TypeVar

from kproxy.wire import codecs
from kproxy.wire.codecs import Message

ANSWER_TIMEOUT_SECONDS: Final = 30.0
LENGTH_BYTES: Final = 4
CLIENT_ID: Final = "raw-connection"

Response = TypeVar("Response", bound=Message)


class RawConnection:
    """One TCP connection, closed at the end of a `with`."""

    def __init__(
        self,
        address: str,
        *,
        receive_buffer_bytes: int | None = None,
        client_id: str = CLIENT_ID,
        own_host: str = "",
        timeout_seconds: float = ANSWER_TIMEOUT_SECONDS,
    ) -> None:
        """Connect to `HOST:PORT`, from `own_host` if one is given. Nothing is waited for longer than `timeout_seconds`.

        A small receive buffer makes a slow reader felt at the other end.
        """
        self.client_id = client_id
        host, _, port = address.rpartition(":")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._socket.settimeout(timeout_seconds)
        try:
            if own_host:
                self._socket.bind((own_host, 0))
            self._socket.connect((host, int(port)))
        except OSError:
            self._socket.close()
            raise
        self._correlation_ids = itertools.count(1)

    @property
    def own_address(self) -> str:
        """`HOST:PORT` of this end: what the other end calls its peer."""
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def send_bytes(self, data: bytes) -> None:
        """Send `data` as it is."""
        self._socket.sendall(data)

    def send_frame(self, content: bytes) -> None:
        """Send `content` behind its length."""
        self.send_bytes(len(content).to_bytes(LENGTH_BYTES, "big") + content)

    def send_request(self, api_key: int, api_version: int, message: Message) -> None:
        """Send a request and do not wait for its response."""
        request = codecs.encode_request(
            api_key, api_version, next(self._correlation_ids), self.client_id, message
        )
        self.send_bytes(b"".join(request))

    def receive_response(self, api_key: int, api_version: int, response_class: type[Response]) -> Response:
        """The next response. Raises EOFError when the other end has closed, TimeoutError when none comes."""
        size = int.from_bytes(self.receive_bytes(LENGTH_BYTES), "big")
        _, response = codecs.decode_response(api_key, api_version, self.receive_bytes(size))
        assert isinstance(response, response_class)
        return response

    def ask(
        self, api_key: int, api_version: int, message: Message, response_class: type[Response]
    ) -> Response:
        """Send a request and return its response."""
        self.send_request(api_key, api_version, message)
        return self.receive_response(api_key, api_version, response_class)

    def receive_bytes(self, count: int) -> bytes:
        """Exactly `count` bytes. Raises EOFError when the other end closes before that."""
        received = bytearray()
        while len(received) < count:
            more = self.receive_some(count - len(received))
            if not more:
                raise EOFError(f"closed after {len(received)} of {count} bytes")
            received += more
        return bytes(received)

    def receive_some(self, most: int) -> bytes:
        """What has come, at most `most` bytes; nothing when the other end has closed."""
        return self._socket.recv(most)

    def is_closed_by_peer(self, *, timeout_seconds: float = ANSWER_TIMEOUT_SECONDS) -> bool:
        """Whether the other end closes in time without having sent anything."""
        self._socket.settimeout(timeout_seconds)
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        """Close this end. May be called again."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
