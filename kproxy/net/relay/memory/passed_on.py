"""`PassedOn`: who had the place beyond the limit, brought little, and waits with what came for another turn."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Final

from kproxy.net.relay.memory.holder import client_of

PART_OF_LIMIT: Final = 8
"""The part of the limit that they may hold beyond it, all together."""

LEAST_BYTES: Final = 1024 * 1024
"""They may hold this, be the limit smaller."""


class PassedOn:
    """Remembers them in the order in which they were passed on, until their frames end or there is room for them."""

    __slots__ = ("_owners", "most_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._owners: dict[Hashable, None] = {}
        self.most_bytes = max(limit_bytes // PART_OF_LIMIT, LEAST_BYTES)
        """How much they may hold. Who alone holds more is not to be passed on."""

    def __contains__(self, owner: Hashable) -> bool:
        return owner in self._owners

    def add(self, owner: Hashable) -> None:
        """Remember `owner` as the last one."""
        self._owners[owner] = None

    def discard(self, owner: Hashable) -> None:
        """Forget `owner`, if it is one of them."""
        self._owners.pop(owner, None)

    def too_many(self, held: Mapping[Hashable, int]) -> list[Hashable]:
        """Return whom to end, so that the others hold no more than they may; `held` is what each holds now.

        The first ones, each time, of the client that holds most: nobody is ended for what another client brought.
        """
        left = {owner: held.get(owner, 0) for owner in self._owners}
        of_clients = Counter[Hashable]()
        for owner, held_bytes in left.items():
            of_clients[client_of(owner)] += held_bytes
        ended: list[Hashable] = []
        while of_clients.total() > self.most_bytes:
            ((most, _),) = of_clients.most_common(1)
            ended.append(next(owner for owner in left if client_of(owner) == most))
            of_clients[most] -= left.pop(ended[-1])
        return ended
