"""Ports whose clients shake hands with TLS, and a line in which they wait for the test."""

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import cast

from kproxy.net.tls.paced_protocol import PacedProtocol
from kproxy.net.tls.paced_transport import PacedTransport
from kproxy.net.tls.step_line import Row, StepLine, Stepping
from tests.unit.net.tls_contexts import listening
from tests.worlds.waiting import until

BIND_HOST = "127.0.0.1"


class Served(asyncio.Protocol):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.transport: PacedTransport | None = None
        self.received = bytearray()
        self.calls: list[str] = []
        self.error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("PacedTransport", transport)
        self.calls.append("made")

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> None:
        self.calls.append("eof")

    def connection_lost(self, error: Exception | None) -> None:
        self.calls.append("lost")
        self.error = error


class SlowlyServed(Served):
    """Has a thousand bytes read at once."""

    def room_bytes(self) -> int:
        return 1000

    def take_read(self, data: bytes) -> None:
        self.data_received(data)


class HeldLine(StepLine):
    """A line in which everybody waits for the test."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[Stepping, Row] = {}

    def __len__(self) -> int:
        return len(self.waiting)

    def begin(self, stepping: Stepping, row: Row) -> None:
        self.waiting[stepping] = row

    def stand(self, stepping: Stepping, row: Row) -> None:
        self.waiting[stepping] = row

    def leave(self, stepping: Stepping) -> None:
        self.waiting.pop(stepping, None)

    async def go_on(self) -> Row:
        """Let the first one take its step, once there is one; return in which row it was."""
        await until(lambda: bool(self.waiting))
        stepping, row = next(iter(self.waiting.items()))
        del self.waiting[stepping]
        stepping.take_step()
        return row


@dataclass
class Port:
    """Where clients are accepted."""

    number: int = 0
    accepted: list[PacedProtocol[Served]] = field(default_factory=list)
    context: ssl.SSLContext = field(default_factory=lambda: listening().context)
    served_by: type[Served] = Served

    def make(self) -> PacedProtocol[Served]:
        """Return what serves the next connection."""
        self.accepted.append(
            PacedProtocol(self.served_by(), self.context, server_side=True, is_stranger=True)
        )
        return self.accepted[-1]

    @property
    def served(self) -> Served:
        """What serves the only connection."""
        (paced,) = self.accepted
        return paced.protocol

    async def connect(self) -> asyncio.StreamWriter:
        """Connect, and say nothing; return when that was accepted."""
        count = len(self.accepted)
        _, writer = await asyncio.open_connection(BIND_HOST, self.number)
        await until(lambda: len(self.accepted) > count)
        return writer
