"""`Wall`: stands between a kproxy and its broker, and lets through what a test wants."""

import contextlib
import socket
import threading
import time
from typing import Final, Self

CHUNK_BYTES: Final = 65_536
HOST: Final = "127.81.0.1"
"""An address of the loopback interface that nobody else uses, so that the ports of brokers are free there."""

Address = tuple[str, int]


class Wall:
    """Forwards TCP from `own` to `target`, from the constructor to the end of `with`."""

    def __init__(self, own: Address, target: Address) -> None:
        self.delay_seconds = 0.0
        """How much later each part of an answer arrives."""
        self._own, self._target = own, target
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._may_pass = threading.Event()
        self._may_pass.set()
        self.open()

    @property
    def address(self) -> str:
        """`HOST:PORT`."""
        host, port = self._own
        return f"{host}:{port}"

    def open(self) -> None:
        """Let new connections through again."""
        self._listener = socket.create_server(self._own)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        """Refuse connections, and close those that are open."""
        if self._listener is not None:
            _close(self._listener)
            self._listener = None
        with self._lock:
            dropped, self._open = self._open, set()
        for connection in dropped:
            _close(connection)

    def fall_silent(self) -> None:
        """Take connections and bytes, and pass nothing on."""
        self._may_pass.clear()

    def speak(self) -> None:
        """Pass on what was kept."""
        self._may_pass.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.speak()
        self.shut()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                self._lead(near)

    def _lead(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target)
        except OSError:
            _close(near)
            return
        with self._lock:
            self._open |= {near, far}
        for source, sink, is_answer in ((near, far, False), (far, near, True)):
            threading.Thread(target=self._pump, args=(source, sink, is_answer), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:  # noqa: FBT001 - of a thread
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                if is_answer and self.delay_seconds:
                    time.sleep(self.delay_seconds)
                self._may_pass.wait()
                sink.sendall(data)
        _close(source)
        _close(sink)


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
