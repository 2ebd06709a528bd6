"""`ReadBuffer`: how much is read of a broker's socket at once."""

import asyncio
from typing import Final

from kproxy.net.relay.buffer_budget import BufferBudget

READ_BYTES: Final = 256_000
"""What uvloop reads of a socket at once. Behind as many bytes, or as many as there was room for, libuv reads again, up
to 32 times, before anybody else has a turn."""

SPARING_READ_BYTES: Final = 16 * 1024
"""What is read at once where the budget is used up: of each socket whose peer is not known to be slow yet."""


class ReadBuffer:
    """The one buffer that all twins of a relay are read into, each for as long as one call of the event loop lasts.

    Where more is held than may be, there is little room in it: that a peer is slow shows only when something was read
    for it, and of thousands that are slow each would hold a whole read. What was read in this turn of the loop counts:
    none of it has had a chance to leave.
    """

    __slots__ = ("_budget", "_is_turn_noted", "_sparing", "_whole")

    def __init__(self, budget: BufferBudget) -> None:
        self._budget = budget
        self._whole = memoryview(bytearray(READ_BYTES))
        self._sparing = self._whole[:SPARING_READ_BYTES]
        self._is_turn_noted = False

    def room(self) -> memoryview:
        """Return what the next read may fill."""
        return self._sparing if self._budget.is_exceeded else self._whole

    def taken(self, count: int) -> bytes:
        """Return the first `count` bytes of it, at least one: the buffer itself is somebody else's next."""
        if not self._is_turn_noted:
            self._is_turn_noted = True
            asyncio.get_running_loop().call_soon(self._end_turn)
        self._budget.note_read(count)
        return bytes(self._whole[:count])

    def _end_turn(self) -> None:
        self._is_turn_noted = False
        self._budget.forget_read()
