"""`PassedOn`: who had the place beyond the limit, brought next to nothing, and goes on when something comes of it."""

from collections.abc import Hashable, Mapping
from typing import Final

PART_OF_LIMIT: Final = 8
"""The part of the limit that they may have brought beyond it, all together."""

LEAST_BYTES: Final = 1024 * 1024
"""They may have brought this, be the limit smaller."""


class PassedOn:
    """Remembers what each held when it was first let in beyond the limit, until its frame ends or there is room for it.

    What came before had room then. So answers of a broker that pauses, of which much came already, are none too many.
    """

    __slots__ = ("_held_before", "_most_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._held_before: dict[Hashable, int] = {}
        self._most_bytes = max(limit_bytes // PART_OF_LIMIT, LEAST_BYTES)

    def __contains__(self, owner: Hashable) -> bool:
        return owner in self._held_before

    def discard(self, owner: Hashable) -> None:
        """Forget `owner`, if it is one of them."""
        self._held_before.pop(owner, None)

    def add(self, owner: Hashable, held_before: int, held: Mapping[Hashable, int]) -> bool:
        """Remember `owner`, which held so much before it was let in; False if they have brought too much with it.

        `held` is what each holds now, with room that was made and not used yet.
        """
        before = {owner: held_before} | self._held_before
        brought = sum(max(held.get(each, 0) - then, 0) for each, then in before.items())
        if brought > self._most_bytes:
            return False
        self._held_before = before
        return True
