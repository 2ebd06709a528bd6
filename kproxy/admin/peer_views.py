"""The ports through which other processes of the fleet are asked what they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kproxy.errors import KproxyError
from kproxy.fleet.owners import Peer

MOST_ANSWER_BYTES: Final = 8 << 20
"""What one process tells another at most: about 25,000 runs of records in flight."""

PARTS_AT_ONCE: Final = 8
"""How many answers for other processes are made at a time: a fleet has eight at most, as it is meant."""


class PeerSilent(KproxyError):
    """Another process was not asked, or did not answer in time, or not so that it can be understood.

    Raised by `PeerViews.ask`; the text names the process and says why.
    """


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """A status as of HTTP, and JSON; behind that of events their text."""

    status: int
    body: bytes


class SlotOwners(Protocol):
    """Who owns which slots, by the newest map."""

    @property
    def own_name(self) -> str:
        """What people call this process."""
        ...

    @property
    def own_token(self) -> str:
        """What tells this process from every other."""
        ...

    def peers(self) -> Sequence[Peer]:
        """Return every other process that owns any slot."""
        ...

    def peer_of_slot(self, slot: int) -> Peer | None:
        """Return the other process that owns a slot; None when this one does, or nobody for the moment."""
        ...

    def peer_of_group(self, group_id: str) -> Peer | None:
        """Return the other process that serves a group; None when this one does, or nobody for the moment."""
        ...


class PeerViews(Protocol):
    """Asks other processes."""

    async def ask(self, peer: Peer, path: str, *, patience_ms: int) -> PeerAnswer:
        """Return what `peer` answers to a path of its admin port, of itself alone: MOST_ANSWER_BYTES at most.

        Raises:
            PeerSilent: it did not answer within `patience_ms`, or with more.
        """
        ...


class Alone:
    """`SlotOwners` and `PeerViews` of a process in no fleet."""

    own_name: Final = ""
    own_token: Final = ""

    def peers(self) -> Sequence[Peer]:
        """Return nobody."""
        return ()

    def peer_of_slot(self, _slot: int) -> Peer | None:
        """Return None: nobody else owns it."""
        return None

    def peer_of_group(self, _group_id: str) -> Peer | None:
        """Return None: nobody else serves it."""
        return None

    async def ask(self, peer: Peer, _path: str, *, patience_ms: int) -> PeerAnswer:
        """Raise PeerSilent."""
        raise PeerSilent(f"{peer.name} was not asked within {patience_ms} ms: this process is in no fleet")
