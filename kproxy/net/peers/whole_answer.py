"""`WholeAnswer`: an answer of a peer that is held until it is whole, to be decoded here."""

import asyncio
from types import TracebackType
from typing import Self

from kproxy.net.broker_failures import PeerFailure
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.wire.frames import LENGTH_BYTES
from kproxy.wording import counted


class WholeAnswer:
    """Collects the parts of one answer; leaving it as a context gives its room in `budget` back.

    One of more than `most_bytes`, and one that there is no room for, is refused when its length is known.
    """

    __slots__ = ("_budget", "_is_begun", "_most_bytes", "_parts", "_whole")

    def __init__(self, most_bytes: int, budget: BufferBudget) -> None:
        self._most_bytes = most_bytes
        self._budget = budget
        self._is_begun = False
        self._parts: list[bytes] = []
        self._whole: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def frame(self) -> bytes:
        """Return the answer's frame, without its length, when it is whole. Raises PeerFailure."""
        return await self._whole

    def receive(self, data: bytes | memoryview) -> None:
        """Take a part of the frame; the first one has its length."""
        if not self._is_begun:
            self._is_begun = True
            self._begin(LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big"))
        if not self._whole.done():
            self._parts.append(bytes(data))

    def end(self) -> None:
        """Take note that all of it came."""
        if not self._whole.done():
            self._whole.set_result(b"".join(self._parts)[LENGTH_BYTES:])
        self._parts.clear()

    def lose(self, failure: PeerFailure) -> None:
        """Take note that the rest of it will not come."""
        if not self._whole.done():
            self._whole.set_exception(failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._whole.cancel()
        self._budget.take(self, 0)

    def _begin(self, size: int) -> None:
        if size > self._most_bytes:
            detail = f"an answer of more than {counted(self._most_bytes, 'byte')} is not held"
            self.lose(PeerFailure("answer_too_large", detail))
        elif not self._whole.done() and not self._budget.take_whole(self, size):
            detail = (
                f"there is no room for an answer of {counted(size, 'byte')}; see kproxy.max.buffered.bytes"
            )
            self.lose(PeerFailure("no_room", detail))
