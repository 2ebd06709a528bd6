"""`StepLine`: what takes TLS long, as steps of handshakes, is done in a bounded part of each turn of the loop.

The first answer to a client takes 0.65 ms with a certificate of RSA 2048 and 4.8 ms with RSA 4096, and a thousand of
them may begin together. In one turn that would keep everybody else from the loop for seconds. `WakingTurns` spreads
what begins likewise, but wakes tasks; this is called within a protocol: who stands here leaves at once, and has a row.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Protocol
from weakref import WeakKeyDictionary

MOST_IN_A_TURN: Final = 16
"""How many steps are taken in one turn: 10 ms with RSA 2048."""

LONG_SECONDS: Final = 0.02
"""No step is taken in a turn in which those before took longer than this."""


class Row(Enum):
    """Where a connection waits."""

    OWN = auto()
    """Whom this process dials, and other processes: clients cannot keep them waiting."""
    ANSWERED = auto()
    """Clients whose handshake has begun: those who begin cannot keep them waiting."""
    STRANGERS = auto()
    """Clients before the first answer to them, which is what takes longest."""
    COSTLY = auto()
    """Who has shaken hands, and whose bytes take far longer than bytes do: see `PacedProtocol`."""


_ORDER: Final = (Row.OWN, Row.ANSWERED, Row.OWN, Row.STRANGERS, Row.OWN, Row.ANSWERED, Row.OWN, Row.COSTLY)
"""Whose turn it is, over and over; a row in which nobody waits is left out. What was begun is so done before more is,
and whoever speaks byte by byte holds up nobody who has yet to be answered."""


class Stepping(Protocol):
    """Who stands in line: `PacedProtocol`."""

    def take_step(self) -> None:
        """Take a step. What it raises is the loop's to tell of; the others go on."""
        ...


class StepLine:
    """The line of one event loop, first come first served in each row.

    Who comes when there is room in the turn, and nobody waits, takes its step at once. The loop tells nobody when a
    turn ends, so a callback behind each that has steps finds that out.
    """

    __slots__ = (
        "_is_turn_watched",
        "_most",
        "_next_in_order",
        "_rows",
        "_seconds",
        "_spent_s",
        "_taken_count",
    )

    def __init__(
        self, most: int = MOST_IN_A_TURN, *, seconds: Callable[[], float] = time.perf_counter
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._rows: dict[Row, OrderedDict[Stepping, None]] = {row: OrderedDict() for row in Row}
        self._next_in_order = 0
        self._taken_count = 0
        self._spent_s = 0.0
        self._is_turn_watched = False

    def __len__(self) -> int:
        """How many wait for a later turn."""
        return sum(map(len, self._rows.values()))

    def count_in(self, row: Row) -> int:
        """Return how many wait in `row`."""
        return len(self._rows[row])

    def begin(self, stepping: Stepping, row: Row) -> None:
        """Have a step taken at once, or let `stepping`, which does not wait yet, stand in `row` for one."""
        if len(self) or not self._has_room():
            self.stand(stepping, row)
        else:
            self._take(stepping)

    def stand(self, stepping: Stepping, row: Row) -> None:
        """Let `stepping`, which does not wait yet, take a step in a later turn."""
        self._rows[row][stepping] = None
        self._watch_turn()

    def leave(self, stepping: Stepping) -> None:
        """Let it wait no more; nothing happens when it does not."""
        for row in self._rows.values():
            row.pop(stepping, None)

    def _has_room(self) -> bool:
        return self._taken_count < self._most and self._spent_s <= LONG_SECONDS

    def _take(self, stepping: Stepping) -> None:
        self._watch_turn()
        self._taken_count += 1
        began_s = self._seconds()
        try:
            stepping.take_step()
        finally:
            self._spent_s += self._seconds() - began_s

    def _watch_turn(self) -> None:
        if not self._is_turn_watched:
            self._is_turn_watched = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._is_turn_watched = False
        self._taken_count, self._spent_s = 0, 0.0
        if len(self):
            self._watch_turn()  # before anything is raised
        while self._has_room() and (stepping := self._first()) is not None:
            self._take(stepping)

    def _first(self) -> Stepping | None:
        for _ in _ORDER:
            row = self._rows[_ORDER[self._next_in_order]]
            self._next_in_order = (self._next_in_order + 1) % len(_ORDER)
            if row:
                return row.popitem(last=False)[0]
        return None


_of_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, StepLine]" = WeakKeyDictionary()


def step_line_of_this_loop() -> StepLine:
    """Return the line of all connections with TLS in this event loop, so that the bound holds for all together."""
    loop = asyncio.get_running_loop()
    line = _of_loops.get(loop)
    if line is None:
        line = _of_loops[loop] = StepLine()
    return line
