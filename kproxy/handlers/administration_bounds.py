"""How much one request of an administrator may be about.

A broker has no such bound. Here one event loop serves everybody: a request may cost it tens of milliseconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final

from kproxy.errors import InvalidRequest

_CHARACTERS_OF_ONE: Final = 100
"""A longer name counts for several: to find the slot of a group, every character of its id is hashed (60 ns)."""


def count_of_names(names: Iterable[str]) -> int:
    """Return for how many things `names` count: each for one, and for another one with every hundred characters."""
    return sum(1 + len(name) // _CHARACTERS_OF_ONE for name in names)


MOST_TOLD_WHY: Final = 1_000
"""Groups that are told why a request is refused as a whole. The words are many times as long as an id may be."""


def told_why(error_message: str | None) -> Iterable[str | None]:
    """Yield what each group is told when a request is refused as a whole: why, and nothing after `MOST_TOLD_WHY`."""
    return chain(repeat(error_message, MOST_TOLD_WHY), repeat(None))


@dataclass(frozen=True, slots=True)
class AdministrationBounds:
    """What requests to describe, alter or delete share groups or their offsets may name, and what answers may tell."""

    most_named: int = 10_000
    """Groups, topics and partitions that a request may name, together (`kproxy.share.admin.request.max.entries`).
    Names count as `count_of_names` has it."""
    most_told: int = 50_000
    """Members, topics and partitions that an answer tells of (`kproxy.share.admin.response.max.entries`), with each
    hundred characters that members say of themselves; a small request may name a large group again and again."""

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
            raise self.lack_of_room()

    def lack_of_room(self) -> InvalidRequest:
        """Return why an answer that would tell of more than `most_told` things is refused."""
        return InvalidRequest(
            f"an answer with more than {self.most_told} entries "
            "(kproxy.share.admin.response.max.entries): ask for fewer groups"
        )
