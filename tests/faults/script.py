"""What becomes of the bytes of one connection, decided as they come. Pure: no socket, no clock."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from tests.faults.frame_cursor import FrameCursor
from tests.faults.kinds import Fault, Kind, Link, Way, faults_of

STRANGER: Final = "stranger"
"""How the client ids of those begin whose records are not accounted for."""
PRODUCER: Final = "producer"
"""How the client ids of those begin that have to know what they have produced."""

HEADER_AT: Final = 4
"""Where in a frame stands what JUNK_HEADER overwrites."""
DRIP_SECONDS: Final = 1.0
"""From one byte of a DRIP to the next."""


@dataclass(frozen=True, slots=True)
class Send:
    """Let these bytes out."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Let nothing pass in this direction for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """End this direction (HALF_CLOSE) or the connection (CUT, RESET, VANISH)."""

    how: Kind


@dataclass(frozen=True, slots=True)
class Struck:
    """For the story: this fault happened, after so many bytes."""

    kind: Kind
    at_byte: int


Step: TypeAlias = Send | Wait | End | Struck


class ConnectionScript:
    """Both directions of the `number`-th connection at a door."""

    def __init__(self, seed: int, link: Link, door: str, number: int) -> None:
        self._ways = {
            way: _Direction(self, link, way, faults_of(seed, link, door, number, way)) for way in Way
        }

    @property
    def client_id(self) -> str:
        """Who said the first request; empty before it came."""
        return self._ways[Way.REQUESTS].cursor.client_id

    @property
    def is_of_stranger(self) -> bool:
        """Whether nothing of this connection is accounted for."""
        return self.client_id.startswith(STRANGER)

    def receive(self, way: Way, data: bytes) -> Iterator[Step]:
        """Yield what is to be done about bytes that came; to be taken to its end."""
        return self._ways[way].receive(data)

    def set_calm(self, *, is_calm: bool) -> None:
        """Let everything pass from now on, except where a direction has ended; or let faults go on."""
        for direction in self._ways.values():
            direction.set_calm(is_calm=is_calm)


class _Direction:
    def __init__(self, script: ConnectionScript, link: Link, way: Way, faults: Iterator[Fault]) -> None:
        self.cursor = FrameCursor()
        self._script = script
        self._is_for_client = way is Way.RESPONSES and link is Link.CLIENTS
        self._may_be_anywhere = way is Way.REQUESTS or link is Link.CLIENTS
        self._faults = faults
        self._due: Fault | None = None
        self._unharmed_bytes = 0
        self._passed_bytes = 0
        self._kept_bytes, self._junk = 0, b""
        self._late_chunks, self._late_seconds = 0, 0.0
        self._drips = 0
        self._is_calm = self._is_bound_to_end = self._is_over = False
        self._go_on_to(next(faults))

    def receive(self, data: bytes) -> Iterator[Step]:
        while data and not self._is_over:
            due = self._due if self._counts else None
            if due is not None and self._is_due(due):
                removed_bytes = yield from self._strike(due)
                self.cursor.advance(data[:removed_bytes])
                data = data[removed_bytes:]
                continue
            passing_bytes = len(data) if due is None else self._unharmed_bytes or self.cursor.step_bytes
            piece, data = data[:passing_bytes], data[passing_bytes:]
            yield from self._pass(piece)

    def set_calm(self, *, is_calm: bool) -> None:
        self._is_calm = is_calm
        self._late_chunks = self._drips = 0

    @property
    def _counts(self) -> bool:
        """Whether what passes brings the next fault nearer."""
        return not self._is_calm or self._is_bound_to_end

    def _go_on_to(self, fault: Fault | None) -> None:
        self._due = fault
        self._unharmed_bytes = 0 if fault is None else fault.after_bytes

    def _is_due(self, fault: Fault) -> bool:
        if self._unharmed_bytes:
            return False
        match self._kind_of(fault):
            case Kind.JUNK_LENGTH | Kind.JUNK_HEADER:
                return self.cursor.is_at_boundary
            case Kind.JUNK_FRAME:
                return self.cursor.left_bytes > 1
            case _:
                return True

    def _kind_of(self, fault: Fault) -> Kind:
        if fault.kind not in (Kind.JUNK_ANYWHERE, Kind.JUNK_LENGTH):
            return fault.kind
        if self._may_be_anywhere and self._script.is_of_stranger:
            return Kind.JUNK_ANYWHERE
        is_for_producer = self._is_for_client and self._script.client_id.startswith(PRODUCER)
        return Kind.JUNK_FRAME if is_for_producer else Kind.JUNK_LENGTH

    def _strike(self, fault: Fault) -> Generator[Step, None, int]:
        """Begin a fault; returns how many of the next bytes are taken out."""
        kind = self._kind_of(fault)
        yield Struck(kind, self._passed_bytes)
        self._go_on_to(next(self._faults))
        match kind:
            case Kind.STALL:
                yield Wait(fault.seconds)
            case Kind.DELAY:
                self._late_chunks, self._late_seconds = fault.count, fault.seconds
            case Kind.DRIP:
                self._drips = fault.count
            case Kind.CUT | Kind.RESET | Kind.VANISH | Kind.HALF_CLOSE:
                self._is_over = True
                yield End(kind)
            case _:
                return (yield from self._spoil(kind, fault.junk))
        return 0

    def _spoil(self, kind: Kind, junk: bytes) -> Generator[Step, None, int]:
        match kind:
            case Kind.JUNK_LENGTH:
                self._go_on_to(None)
                yield Send(junk)
            case Kind.JUNK_HEADER:
                self._go_on_to(None)
                self._kept_bytes, self._junk = HEADER_AT, junk
            case Kind.JUNK_FRAME:
                self._junk = junk[: self.cursor.left_bytes - 1]
                self._is_bound_to_end = True
                self._go_on_to(Fault(Kind.RESET, len(self._junk)))
            case _:
                return (yield from self._spoil_anywhere(junk))
        return 0

    def _spoil_anywhere(self, junk: bytes) -> Generator[Step, None, int]:
        match junk[-1] % 3:
            case 0:
                self._junk = junk
            case 1:
                yield Send(junk)
            case _:
                return len(junk)
        return 0

    def _pass(self, piece: bytes) -> Iterator[Step]:
        self.cursor.advance(piece)
        self._passed_bytes += len(piece)
        if self._counts:
            self._unharmed_bytes = max(0, self._unharmed_bytes - len(piece))
        piece = self._written_over(piece)
        drops, piece = piece[: self._drips], piece[self._drips :]
        self._drips -= len(drops)
        for place in range(len(drops)):
            yield Send(drops[place : place + 1])
            yield Wait(DRIP_SECONDS)
        if piece and self._late_chunks:
            self._late_chunks -= 1
            yield Wait(self._late_seconds)
        if piece:
            yield Send(piece)

    def _written_over(self, piece: bytes) -> bytes:
        if not self._junk:
            return piece
        kept, rest = piece[: self._kept_bytes], piece[self._kept_bytes :]
        self._kept_bytes -= len(kept)
        junk, self._junk = self._junk[: len(rest)], self._junk[len(rest) :]
        return kept + junk + rest[len(junk) :]
