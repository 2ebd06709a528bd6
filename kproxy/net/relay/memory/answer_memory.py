"""What the buffers of an answer keep: a slice keeps all of what it was cut from, until the client has taken it.

An answer of one small record may be cut from a read of forty megabytes. What waits for a client that reads slowly is
counted by its bytes; so what is small is copied, and the read is given back.
"""

from collections.abc import Iterable, Sequence
from typing import Final

MOST_KEPT: Final = 3
"""How many times their own bytes buffers may keep. More than 2: memory that is used again for what brokers answer may
be twice as large as the answer (`cluster.read_buffers`), and what is sent on whole must not be copied."""


def surplus_bytes(buffers: Iterable[bytes | memoryview]) -> int:
    """Return how many bytes `buffers` keep beside their own."""
    return sum(kept - own for kept, own in _by_memory(buffers).values())


def cut_free(buffers: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """Return `buffers`, copied where those of one memory keep more than `MOST_KEPT` times their own bytes."""
    wasteful = {key for key, (kept, own) in _by_memory(buffers).items() if kept > MOST_KEPT * own}
    if not wasteful:
        return list(buffers)
    return [
        bytes(each) if isinstance(each, memoryview) and id(each.obj) in wasteful else each for each in buffers
    ]


def _by_memory(buffers: Iterable[bytes | memoryview]) -> dict[int, tuple[int, int]]:
    """Return what is kept, and how much of that the buffers are, by what they were cut from."""
    found: dict[int, tuple[int, int]] = {}
    for each in buffers:
        if isinstance(each, memoryview):
            kept, own = found.get(id(each.obj)) or (memoryview(each.obj).nbytes, 0)
            found[id(each.obj)] = kept, own + each.nbytes
    return found
