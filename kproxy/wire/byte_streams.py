"""What construct trees read from and write to: a buffer with bounds, and a list of chunks."""

from typing import Final

from kproxy.errors import KproxyError, MalformedMessage
from kproxy.wording import counted


class UnencodableMessage(KproxyError, ValueError):
    """A message that its version cannot carry: a number out of range, a null not allowed, a newer field.

    Raised by `kproxy.wire.codecs` on encode. A mistake of the caller, so nobody handles it: the task that met
    it logs it and closes its connection. (Kafka raises UnsupportedVersionException for a field too new.)
    """


class ByteSource:
    """A received buffer and how far it has been read. Nothing is copied."""

    __slots__ = ("position", "view")

    def __init__(self, buffer: bytes | memoryview, position: int = 0) -> None:
        self.view: Final = memoryview(buffer)
        self.position = position

    @property
    def remaining(self) -> int:
        """How many bytes have not been read."""
        return len(self.view) - self.position


class ByteSink:
    """What has been written, as chunks: neighbouring writes become one, a `records` value stays its own."""

    __slots__ = ("_chunks", "_parts")

    def __init__(self) -> None:
        self._chunks: list[bytes | memoryview] = []
        self._parts: list[bytes | memoryview] = []

    def write(self, data: bytes | memoryview) -> None:
        """Append `data` to the chunk being written."""
        self._parts.append(data)

    def write_records(self, records: bytes | memoryview) -> None:
        """Append `records` as a chunk of its own, not copied; nothing when empty."""
        if len(records):
            self._end_chunk()
            self._chunks.append(records)

    def chunks(self) -> list[bytes | memoryview]:
        """Return everything written, in order; no chunk is empty."""
        self._end_chunk()
        return self._chunks

    def _end_chunk(self) -> None:
        if self._parts:
            self._chunks.append(b"".join(self._parts))
            self._parts.clear()


def read_exactly(source: ByteSource, count: int, path: str) -> memoryview:
    """Return the next `count` bytes and move on. The only way any leaf gets at received bytes.

    Raises:
        MalformedMessage: fewer remain, or `count` is negative.
    """
    if not 0 <= count <= source.remaining:
        raise MalformedMessage(f"{path}: needs {counted(count, 'byte')}, {source.remaining} remain")
    start = source.position
    source.position = start + count
    return source.view[start : source.position]
