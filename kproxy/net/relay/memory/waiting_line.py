"""`WaitingLine`: who waits for room, each client in its turn, however many connections it has."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

from kproxy.net.relay.memory.holder import client_of


@dataclass(frozen=True, slots=True)
class Wish:
    """Room that somebody waits for."""

    step_bytes: int
    on_granted: Callable[[], None]
    is_answer: bool
    frame_bytes: int
    """The size of the frame that it is for."""


class WaitingLine:
    """Keeps the wishes of owners, those of one client in the order in which they came.

    A client that comes, or that was served and has more of them, has its turn after all others that wait. An owner that
    is nobody's is a client by itself.
    """

    __slots__ = ("_client_of", "_clients")

    def __init__(self) -> None:
        self._clients: dict[Hashable, dict[Hashable, Wish]] = {}
        self._client_of: dict[Hashable, Hashable] = {}

    def __len__(self) -> int:
        return len(self._client_of)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._client_of)

    def __contains__(self, owner: Hashable) -> bool:
        return owner in self._client_of

    def add(self, owner: Hashable, wish: Wish) -> None:
        """Have `owner` wait as the last one of its client; who waits already keeps its turn."""
        client = client_of(owner)
        if self._client_of.get(owner, client) != client:
            self.discard(owner)
        self._client_of[owner] = client
        self._clients.setdefault(client, {})[owner] = wish

    def get(self, owner: Hashable) -> Wish | None:
        """Return what `owner` waits for."""
        return self._clients[self._client_of[owner]][owner] if owner in self._client_of else None

    def discard(self, owner: Hashable) -> None:
        """Forget `owner`, which waits no longer, and let its client have its turn when it would have had it."""
        if owner in self._client_of:
            client = self._client_of.pop(owner)
            del self._clients[client][owner]
            if not self._clients[client]:
                del self._clients[client]

    def serve(self, owner: Hashable) -> None:
        """Forget `owner`, which got what it waited for: its client has its next turn after all others."""
        client = self._client_of[owner]
        self._clients[client] = self._clients.pop(client)
        self.discard(owner)

    def oldest(self) -> Hashable:
        """Return who has waited for longest, of the client whose turn it is. Raises StopIteration when nobody waits."""
        return next(iter(next(iter(self._clients.values()))))

    def smallest(self) -> Hashable:
        """Return whose frame is the smallest of that half of the clients whose turn comes first.

        So a client that always has the smallest is chosen once while half of the others are. Of several of one size it
        is the one that `oldest` returns first. Raises ValueError when nobody waits.
        """
        lines = islice(self._clients.values(), (len(self._clients) + 1) // 2)
        wishes = chain.from_iterable(line.items() for line in lines)
        owner, _ = min(wishes, key=lambda item: item[1].frame_bytes)
        return owner

    def first(self, most: int) -> list[Hashable]:
        """Return `most` of those who wait at most: the oldest of each client, then the next one of each, and so on."""
        ranks = zip_longest(*islice(self._clients.values(), most), fillvalue=self)
        return list(islice((owner for owner in chain.from_iterable(ranks) if owner is not self), most))
