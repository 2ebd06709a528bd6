"""`WholeAnswer`: an answer of a peer that is held until it is whole, to be decoded here."""

import asyncio

from kproxy.net.broker_failures import PeerFailure
from kproxy.wire.frames import LENGTH_BYTES
from kproxy.wording import counted


class WholeAnswer:
    """Collects the parts of one answer; one of more than `most_bytes` is refused."""

    __slots__ = ("_most_bytes", "_parts", "_size", "_whole")

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._whole: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def frame(self) -> bytes:
        """Return the answer's frame, without its length, when it is whole. Raises PeerFailure."""
        return await self._whole

    def receive(self, data: bytes | memoryview) -> None:
        """Take a part of the frame."""
        self._size += len(data)
        if self._size <= self._most_bytes:
            self._parts.append(bytes(data))
            return
        self._parts.clear()
        detail = f"an answer of more than {counted(self._most_bytes, 'byte')} is not held"
        self.lose(PeerFailure("answer_too_large", detail))

    def end(self) -> None:
        """Take note that all of it came."""
        if not self._whole.done():
            self._whole.set_result(b"".join(self._parts)[LENGTH_BYTES:])

    def lose(self, failure: PeerFailure) -> None:
        """Take note that the rest of it will not come."""
        if not self._whole.done():
            self._whole.set_exception(failure)
