"""Stands between kproxy and a broker, and lets the broker misbehave on the wire."""

import contextlib
import socket
import threading
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Final, Self

from tests.real_kafka.ports import LOOPBACK

CHUNK_BYTES: Final = 65_536
GARBAGE: Final = bytes(range(0xE0, 0xF0)) * 8


class Fault(Enum):
    """What becomes of the first bytes that the broker sends on a connection."""

    NONE = "they pass"
    GARBAGE = "garbage comes in their place"
    CUT_MID_FRAME = "all but the last one pass, then the connection is closed"
    TLS_ALERT = "a TLS alert comes in their place, and the connection is closed"


class FaultyForwarder:
    """Forwards TCP connections from `address` to `target`, from the constructor to `close`."""

    def __init__(self) -> None:
        self.target = ""
        """`HOST:PORT`; while it is empty, connections are closed at once."""
        self._listener = socket.create_server((LOOPBACK, 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Condition()
        self._held: set[socket.socket] = set()
        self._withheld = bytearray()
        self._held_from = b""
        self.fault = Fault.NONE
        """What happens on connections that are made from now on."""
        threading.Thread(target=self._accept, name="faulty forwarder", daemon=True).start()

    @property
    def address(self) -> str:
        """`HOST:PORT` that it listens on."""
        return f"{LOOPBACK}:{self._listener.getsockname()[1]}"

    def drop_connections(self) -> None:
        """Close every connection that is open now."""
        with self._lock:
            dropped, self._open = self._open, set()
        for connection in dropped:
            _close(connection)

    def hold(self) -> None:
        """Keep what comes on the connections that are open now; those made later pass."""
        with self._lock:
            self._held = set(self._open)

    def hold_from(self, content: bytes) -> None:
        """Keep what comes on the connection on which `content` comes first, from then on."""
        with self._lock:
            self._held_from = content

    def is_holding(self, content: bytes) -> bool:
        """Whether `content` is among what was kept so far."""
        with self._lock:
            return content in self._withheld

    def release(self) -> None:
        """Pass on what was kept, and everything after it."""
        with self._lock:
            self._held.clear()
            self._held_from = b""
            self._withheld.clear()
            self._lock.notify_all()

    def close(self) -> None:
        """Stop listening and close all connections."""
        _close(self._listener)
        self.release()
        self.drop_connections()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._forward(client)

    def _forward(self, client: socket.socket) -> None:
        try:
            host, _, port = self.target.rpartition(":")
            broker = socket.create_connection((host, int(port)))
        except (OSError, ValueError):
            _close(client)
            return
        with self._lock:
            self._open |= {client, broker}
        for source, sink, fault in ((client, broker, Fault.NONE), (broker, client, self.fault)):
            pump = threading.Thread(target=_pump, args=(source, sink, fault, self._let_pass), daemon=True)
            pump.start()

    def _let_pass(self, source: socket.socket, data: bytes) -> None:
        with self._lock:
            if self._held_from and self._held_from in data:
                self._held.add(source)
                self._held_from = b""
            if source in self._held:
                self._withheld += data
                self._lock.wait_for(lambda: source not in self._held)


def _pump(
    source: socket.socket,
    sink: socket.socket,
    fault: Fault,
    let_pass: Callable[[socket.socket, bytes], None],
) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            let_pass(source, data)
            match fault:
                case Fault.NONE:
                    sink.sendall(data)
                case Fault.GARBAGE:
                    sink.sendall(GARBAGE)
                case Fault.CUT_MID_FRAME:
                    sink.sendall(data[:-1])
                    break
                case Fault.TLS_ALERT:
                    sink.sendall(b"\x15\x03\x03\x00\x02\x02\x28")
                    break
    _close(source)
    _close(sink)


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
