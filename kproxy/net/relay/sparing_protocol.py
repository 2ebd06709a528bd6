"""`SparingProtocol`: one end of a relayed connection, read as much at once as there is room for, and then no more."""

import asyncio
from collections.abc import Hashable
from typing import ClassVar

from kproxy.net.relay.read_buffer import READ_BYTES, ReadBuffer


class SparingProtocol(asyncio.BufferedProtocol):
    """Has its socket read into `reads`, and `data_received` called as any protocol has that is none of buffers.

    Where `full_reads` in a row were full, or one where the budget is used up, it is not read again before the loop's
    next turn. Who is read no further until then anyway does not rest beside that.
    """

    full_reads: ClassVar = 1
    __slots__ = ("_full_reads", "_is_resting", "_reads", "holder")

    def __init__(self, reads: ReadBuffer) -> None:
        self._reads = reads
        self.holder: Hashable = None
        """For whom the budget counts what is read."""
        self._full_reads = 0
        self._is_resting = False
        """Whether nothing more is to be read before the loop's next turn."""

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        raise NotImplementedError

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - as `BufferedProtocol` has it
        return self._reads.room(self.holder)

    def buffer_updated(self, nbytes: int) -> None:
        offered_bytes = self._reads.offered_bytes
        self._full_reads = self._full_reads + 1 if nbytes == offered_bytes else 0
        self.data_received(self._reads.taken(nbytes))
        is_enough = self._full_reads >= (self.full_reads if offered_bytes == READ_BYTES else 1)
        if (is_enough or self._reads.are_many_in_turn) and not self._is_resting and self._is_read_on():
            self._full_reads, self._is_resting = 0, True
            self._adjust_reading()
            asyncio.get_running_loop().call_soon(self._end_rest)

    def room_bytes(self) -> int:
        """Return how much may be read for it at once: encrypted bytes, where they are."""
        return len(self._reads.room(self.holder))

    def take_read(self, data: bytes) -> None:
        """Take what was read elsewhere, and decrypted."""
        self._reads.note(len(data))
        self.data_received(data)

    def _is_read_on(self) -> bool:
        """Whether more might be read before the loop's next turn if it did not rest."""
        return True

    def _adjust_reading(self) -> None:
        """Read on, or nothing more for now: `_is_resting` has changed."""
        raise NotImplementedError

    def _end_rest(self) -> None:
        self._is_resting = False
        self._adjust_reading()


def read_on(transport: asyncio.Transport, *, is_wanted: bool) -> bool:
    """Read on, or nothing more for now; True when it was not read until now. It is not closing."""
    if is_wanted is transport.is_reading():
        return False
    if is_wanted:
        transport.resume_reading()
    else:
        transport.pause_reading()
    return is_wanted
