"""What the rules of a fleet await: peers that answer requests, and work that goes on side by side."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from kproxy.fleet.owners import GroupOwners, Peer
from kproxy.handlers.ports import Observer
from kproxy.handlers.request_context import RequestContext
from kproxy.wire.codecs import DecodedRequest, Message

Result = TypeVar("Result")

OWN_CONNECTION: Final = 0
"""The connection id of questions that are kproxy's own, and no client's."""


class PeerRequests(Protocol):
    """Requests to the other processes of the fleet, on behalf of a client connection."""

    async def ask(self, peer: Peer, request: DecodedRequest, context: RequestContext) -> Message:
        """Return `peer`'s answer to `request` (API key and version as the client's), decoded.

        The peer serves it itself, as `ServedApis.serve` does, and never relays it; of an API that kproxy and the broker
        serve together that is kproxy's part. It may wait for its state log as long as any process does
        (`readiness.PATIENCE_MS`). It knows the connection by `context.connection_id`; `OWN_CONNECTION` is no client's.
        Every peer may be asked at the same time, and each once.

        Raises:
            CoordinatorNotAvailable: it cannot be reached, ended the connection, or did not answer in time; or the
                client is gone.
        """
        ...


class SideBySide(Protocol):
    """Work that does not wait for each other."""

    async def run(self, works: Sequence[Callable[[], Awaitable[Result]]]) -> Sequence[Result]:
        """Do all of `works` at once, a bounded number of them at a time; return what they return, in their order.

        What one of them raises cancels the others, and is raised in an ExceptionGroup. Cancelled with its caller.
        """
        ...


@dataclass(frozen=True, slots=True)
class FleetPorts:
    """The outside of a fleet."""

    owners: GroupOwners
    requests: PeerRequests
    side_by_side: SideBySide
    observer: Observer
