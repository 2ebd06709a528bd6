"""What can befall one direction of a connection, and how chance draws it from a seed.

**Garbage, and accounts that have to balance.** Kafka's protocol has a checksum for record batches and none for anything
else: a ShareAcknowledge of which one byte was changed is another ShareAcknowledge, and whoever receives it cannot know.
TCP's own checksum, or TLS, is what stands against that. So on connections whose records are accounted for garbage goes
only where no receiver can take it for anything:

1. `JUNK_LENGTH`: random bytes stand where a frame begins, and as its length they are impossible. Negative lengths are
   impossible for everybody; lengths of 1.6 GB and more for kproxy and for brokers (`socket.request.max.bytes`), but not
   for Java's clients, which would ask for that memory: these get negative ones. Producers get JUNK_FRAME instead:
   librdkafka gives up what was on its way when no answer can be read (`_BAD_MSG`), begins a new epoch, and sends what
   else was on its way once more, which is then there twice; no proxy can help that, and it would hide what one does.
2. `JUNK_HEADER`: the length is right, and random bytes follow where a request has its API key, which is then none that
   there is. Of a response these bytes are its correlation id, which is then negative, as no client's is; that befalls
   what brokers say to kproxy, which has to see it. Java's clients lose a request for ever over one, so they get none.
3. `JUNK_FRAME`: random bytes anywhere within a frame, and the connection is reset before the frame is whole. Nobody
   acts on a part of a frame, but kproxy streams it on.

`JUNK_ANYWHERE`, in place of the first, has no such rule: bytes are overwritten, inserted or taken out wherever it
strikes. It befalls *strangers* alone, clients of which nothing is accounted for and whose groups and topics nobody else
uses; at least four bytes are changed at random, so that chance makes of no name and no id another one of theirs (once
in four billion times). It does not befall what brokers say: an answer that is well-formed and wrong is believed, by
every client as by kproxy (SECURITY.md, "Tested with"), and an address in it would concern everybody.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final


class Kind(StrEnum):
    """A fault."""

    CUT = "cut"
    """Both directions end in order (FIN)."""
    RESET = "reset"
    """Both ends get an RST."""
    HALF_CLOSE = "half-close"
    """This direction ends with a FIN, and what comes in it is lost; the other one goes on."""
    VANISH = "vanish"
    """Nothing is taken or said any more, by either end, for ever: a host that lost its power or its network."""
    STALL = "stall"
    """Nothing passes in this direction for some seconds."""
    DELAY = "delay"
    """The next chunks are late."""
    DRIP = "drip"
    """The next bytes pass one by one, one a second: of a slow reader, or a slow writer."""
    JUNK_LENGTH = "garbage for a length"
    JUNK_HEADER = "garbage in a header"
    JUNK_FRAME = "garbage within a frame, then reset"
    JUNK_ANYWHERE = "garbage anywhere"


class Link(StrEnum):
    """Which side of kproxy a connection is on."""

    CLIENTS = "clients"
    BROKERS = "brokers"


class Way(StrEnum):
    """A direction of a connection."""

    REQUESTS = "requests"
    RESPONSES = "responses"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one direction."""

    kind: Kind
    after_bytes: int
    """How many bytes pass in this direction, unharmed, between the fault before it and this one."""
    seconds: float = 0.0
    """How long a STALL lasts, or how much later each chunk of a DELAY is."""
    count: int = 0
    """Chunks of a DELAY, bytes of a DRIP."""
    junk: bytes = b""


EXPONENTS: Final = (8.0, 19.0)
"""A fault comes after 256 bytes to 512 KiB, each order of magnitude as often as any other."""

STALL_EXPONENTS: Final = (-2.0, 3.0)
"""A quarter of a second to 8 s: beyond the timeouts of clients (4 s), of a write to the state log and of a share
group's session (5 s), and of a fleet's session (6 s)."""
DELAY_SECONDS: Final = (0.01, 0.08)
DELAYED_CHUNKS: Final = (5, 100)
DRIPPED_BYTES: Final = (2, 6)
JUNK_BYTES: Final = (4, 64)

NEGATIVE: Final = (0x80, 0xFF)
IMPOSSIBLE: Final = (0x60, 0xFF)
"""First bytes of a length that is negative, or 1.6 GB and more."""
UNKNOWN_KEYS: Final = (0x40, 0x7F)
"""First bytes of API keys from 16,384 on; Kafka has some hundred."""

WEIGHTS: Final = {
    Kind.CUT: 14,
    Kind.RESET: 14,
    Kind.HALF_CLOSE: 10,
    Kind.VANISH: 5,
    Kind.STALL: 11,
    Kind.DELAY: 14,
    Kind.DRIP: 6,
    Kind.JUNK_LENGTH: 7,
    Kind.JUNK_HEADER: 7,
    Kind.JUNK_FRAME: 7,
    Kind.JUNK_ANYWHERE: 5,
}


def faults_of(seed: int, link: Link, door: str, number: int, way: Way) -> Iterator[Fault]:
    """Yield the faults of one direction of the `number`-th connection at a door, without end.

    The same arguments give the same faults, whatever happens to other connections.
    """
    chance = Random(f"{seed} {link} {door} {number} {way}")
    while True:
        yield _fault(chance, link, way)


def _fault(chance: Random, link: Link, way: Way) -> Fault:
    [kind] = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
    after_bytes = round(2 ** chance.uniform(*EXPONENTS))
    match kind:
        case Kind.STALL:
            return Fault(kind, after_bytes, seconds=2 ** chance.uniform(*STALL_EXPONENTS))
        case Kind.DELAY:
            count = chance.randint(*DELAYED_CHUNKS)
            return Fault(kind, after_bytes, seconds=chance.uniform(*DELAY_SECONDS), count=count)
        case Kind.DRIP:
            return Fault(kind, after_bytes, count=chance.randint(*DRIPPED_BYTES))
        case Kind.CUT | Kind.RESET | Kind.HALF_CLOSE | Kind.VANISH:
            return Fault(kind, after_bytes)
        case Kind.JUNK_HEADER if way is Way.RESPONSES and link is Link.CLIENTS:
            return _junk(chance, Kind.JUNK_FRAME, after_bytes, link, way)
        case _:
            return _junk(chance, kind, after_bytes, link, way)


def _junk(chance: Random, kind: Kind, after_bytes: int, link: Link, way: Way) -> Fault:
    junk = bytearray(chance.randbytes(chance.randint(*JUNK_BYTES)))
    if kind is Kind.JUNK_HEADER:
        junk[0] = chance.randint(*(UNKNOWN_KEYS if way is Way.REQUESTS else NEGATIVE))
        del junk[4:]
    elif kind is not Kind.JUNK_FRAME:
        junk[0] = chance.randint(*(NEGATIVE if link is Link.CLIENTS and way is Way.RESPONSES else IMPOSSIBLE))
    return Fault(kind, after_bytes, junk=bytes(junk))
