"""How many TLS handshakes may be under way, and which of them gives way to a newcomer. Pure: time is an argument."""

from typing import Final, Protocol

MOST_HANDSHAKES: Final = 1000
"""How many may be under way in a process."""

SILENT_MS: Final = 1_000
"""Who has said nothing for so long since it was accepted gives way. Until then a newcomer waits: a client on a far host
needs a round trip to speak at all."""

STILL_MS: Final = 3_000
"""Who has begun, and says nothing more for so long, is silent, too: longer than any client on a slow line takes. Who
waits for a turn of the loop that has time for what it said is not."""

SLOW_MS: Final = 3_000
"""Who is not done so long after its first word was taken in gives way whatever it says, if nobody is silent: a byte now
and then would hold a place for all the time that a handshake may take. How long its first word waited is not its doing,
and who gave way then would have waited for nothing; all later waits count."""


class Handshake(Protocol):
    """A handshake that is under way: `NewcomerHandshake`, which has sockets, and so stands above this module."""

    @property
    def heard_ms(self) -> int | None:
        """When its client last said something, or that was taken in, by the loop's clock; None before it has spoken."""
        ...

    @property
    def begun_ms(self) -> int | None:
        """When what it said was first taken in; None before that."""
        ...

    @property
    def is_waiting(self) -> bool:
        """Whether what it said waits to be taken in."""
        ...

    def give_way(self) -> bool:
        """End it now, for somebody else's sake; it has left when that returns. False: it was done in this very turn."""
        ...


class HandshakePlaces:
    """Keeps those who shake hands, the oldest first.

    A client says something within a round trip; whoever stays silent for `SILENT_MS` is none, or can come back. So the
    oldest of the silent ones gives way. Those who speak do not before `SLOW_MS` are over: many honest clients at once
    would drive each other out for ever. Where so many begin that their first words wait for longer, in a line that goes
    on by itself, newcomers wait, too: nobody gives way before it was its turn.
    """

    __slots__ = ("_most", "_under_way")

    def __init__(self, most: int = MOST_HANDSHAKES) -> None:
        self._most = most
        self._under_way: dict[Handshake, int] = {}
        """Those who shake hands, the oldest first, and since when."""

    def __len__(self) -> int:
        return len(self._under_way)

    def enter(self, handshake: Handshake, now_ms: int) -> None:
        """Count `handshake` as one that is under way from now on."""
        self._under_way[handshake] = now_ms

    def leave(self, handshake: Handshake) -> None:
        """Count it no more; nothing happens when it has left."""
        self._under_way.pop(handshake, None)

    def has_room(self, now_ms: int) -> bool:
        """Tell whether one more may begin. If there are too many, a silent one gives way."""
        return self._has_place or self.turn_away(now_ms) or self._has_place

    def turn_away(self, now_ms: int) -> bool:
        """Let the oldest who stays silent give way, else who says nothing more, else who is slow; whether one did."""
        while leaving := self._silent(now_ms) or self._slow(now_ms):
            self.leave(leaving)
            if leaving.give_way():
                return True
        return False

    @property
    def _has_place(self) -> bool:
        return len(self._under_way) < self._most

    def _silent(self, now_ms: int) -> Handshake | None:
        still = None
        for handshake, since_ms in self._under_way.items():
            heard_ms = handshake.heard_ms
            if heard_ms is None:
                if now_ms - since_ms >= SILENT_MS:
                    return handshake
            elif still is None and not handshake.is_waiting and now_ms - heard_ms >= STILL_MS:
                still = handshake
        return still

    def _slow(self, now_ms: int) -> Handshake | None:
        for handshake in self._under_way:
            begun_ms = handshake.begun_ms
            if begun_ms is not None and now_ms - begun_ms >= SLOW_MS:
                return handshake
        return None
