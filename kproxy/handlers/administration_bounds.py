"""How much one request of an administrator may be about.

A broker has no such bound. Here one event loop serves everybody: a request may cost it tens of milliseconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kproxy.errors import InvalidRequest

_CHARACTERS_OF_ONE: Final = 100
"""A longer name counts for several: to find the slot of a group, every character of its id is hashed (60 ns)."""


def count_of_names(names: Iterable[str]) -> int:
    """Return for how many things `names` count: each for one, and for another one with every hundred characters."""
    return sum(1 + len(name) // _CHARACTERS_OF_ONE for name in names)


@dataclass(frozen=True, slots=True)
class AdministrationBounds:
    """What requests to describe, alter or delete share groups or their offsets may name, and what answers may tell."""

    most_named: int = 10_000
    """Groups, topics and partitions that a request may name, together (`kproxy.share.admin.request.max.entries`).
    Names count as `count_of_names` has it."""
    most_told: int = 50_000
    """Members, topics and partitions that an answer tells of (`kproxy.share.admin.response.max.entries`); a request
    of a few kilobytes may name a large group again and again."""

    def require_few(self, count: int) -> None:
        """Raise InvalidRequest when a request names more than `most_named` things, as which `count` stands."""
        if count > self.most_named:
            raise InvalidRequest(
                f"groups, topics and partitions in one request: {count}, expected {self.most_named} at most "
                "(kproxy.share.admin.request.max.entries): ask in several requests"
            )

    def require_room(self, told_count: int) -> None:
        """Raise InvalidRequest when an answer tells of `most_told` things already."""
        if told_count >= self.most_told:
            raise InvalidRequest(
                f"an answer with more than {self.most_told} entries "
                "(kproxy.share.admin.response.max.entries): ask for fewer groups"
            )
