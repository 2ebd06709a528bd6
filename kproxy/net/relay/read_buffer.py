"""`ReadBuffer`: how much is read at once of the socket of a client, a broker or a peer."""

import asyncio
from collections.abc import Hashable
from typing import Final

from kproxy.net.relay.memory.buffer_budget import BufferBudget

READ_BYTES: Final = 256_000
"""What uvloop reads of a socket at once. Behind as many bytes, or as many as there was room for, libuv reads again, up
to 32 times, before anybody else has a turn."""

MOST_READS_A_TURN: Final = 500
"""Of all sockets together, before each that is read rests until the loop's next turn. Where 1,024 are ready libuv looks
for more, up to 48 times, before anything else has a turn: with 2,000 busy connections that took 1.3 s."""

MOST_BYTES_A_TURN: Final = 16 * 1024 * 1024
"""Of all sockets together, before what is read of each further one in that turn is little: 64 whole reads. To read,
copy and write as much takes some 30 ms. In the turns behind it each has an equal part of this."""

SPARING_READ_BYTES: Final = 16 * 1024
"""What is read at once where the budget, or the turn, is used up: of each socket whose bytes go to somebody not known
to be slow."""


class ReadBuffer:
    """The one buffer that all sockets of a relay are read into, each for as long as one call of the event loop lasts.

    Where more is held than may be, there is little room in it: that a peer is slow shows only when something was read
    for it, and of thousands that are slow each would hold a whole read. What was read in this turn of the loop counts:
    none of it has had a chance to leave.

    Where more comes than may be read in a turn there is less room in it, too: the loop has the sockets in the same
    order in each turn, and those that come last would be read little for ever. So their part is measured by the turn
    before.
    """

    __slots__ = (
        "_is_turn_noted",
        "_part",
        "_read_bytes",
        "_read_count",
        "_sparing",
        "_whole",
        "budget",
        "offered_bytes",
    )

    def __init__(self, budget: BufferBudget) -> None:
        self.budget = budget
        """What all that is read counts for."""
        self._whole = memoryview(bytearray(READ_BYTES))
        self._sparing = self._whole[:SPARING_READ_BYTES]
        self._part = self._whole
        self._is_turn_noted = False
        self._read_bytes = self._read_count = 0
        self.offered_bytes = READ_BYTES
        """What the last read may have filled."""

    @property
    def are_many_in_turn(self) -> bool:
        """Whether so much was read in this turn of the loop that whoever is read next is read once."""
        return self._read_count > MOST_READS_A_TURN

    def room(self, holder: Hashable = None) -> memoryview:
        """Return what the next read may fill, which is for `holder`; much for who has the place beyond the limit."""
        if self.budget.is_exceeded:
            room = self._whole if self.budget.has_place(holder) else self._sparing
        else:
            room = self._part if self._read_bytes < MOST_BYTES_A_TURN else self._sparing
        self.offered_bytes = len(room)
        return room

    def taken(self, count: int) -> bytes:
        """Return the first `count` bytes of it, at least one: the buffer itself is somebody else's next."""
        self.note(count)
        return bytes(self._whole[:count])

    def note(self, count: int) -> None:
        """Count `count` bytes that were read, be it elsewhere, until this turn of the loop is over."""
        if not self._is_turn_noted:
            self._is_turn_noted = True
            asyncio.get_running_loop().call_soon(self._end_turn)
        self._read_bytes += count
        self._read_count += 1
        self.budget.note_read(count)

    def _end_turn(self) -> None:
        if self._read_bytes > MOST_BYTES_A_TURN or self._part is not self._whole:
            part_bytes = len(self._part) * MOST_BYTES_A_TURN // max(self._read_bytes, 1)
            is_whole = part_bytes >= READ_BYTES
            self._part = self._whole if is_whole else self._whole[: max(part_bytes, SPARING_READ_BYTES)]
        self._is_turn_noted, self._read_bytes, self._read_count = False, 0, 0
        self.budget.forget_read()
