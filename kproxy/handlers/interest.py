"""`Interest`: what one fetch waits for, from its first wait to its end.

A session may have thousands of share-partitions. To take note of all of them before each wait, and to forget them
behind it, costs milliseconds, and one record may wake many such fetches at once.
"""

from collections.abc import Collection, Iterable
from typing import Final, Protocol

from kproxy.share.identifiers import SharePartitionKey

MOST_ANEW: Final = 50
"""So many share-partitions are taken note of for each wait anew: with more an interest is wide."""


class Registration(Protocol):
    """Where a wide interest is known; `Availability` makes it."""

    def end(self) -> None:
        """Forget the interest: it is woken no more."""
        ...


class Interest(dict[SharePartitionKey, int | None]):
    """By share-partition the first offset that a read found missing; None where only a signal is waited for.

    A *wide* one stays registered between waits, until its `end`: `Availability.wait` then looks only at what has
    `changed` since the last wait, and what is signalled in between is `news` for the next one.
    """

    __slots__ = ("changed", "is_wide", "news", "registration")

    def __init__(self, keys: Iterable[SharePartitionKey]) -> None:
        """Miss no offset of any of `keys` as yet."""
        super().__init__(dict.fromkeys(keys))
        self.is_wide = len(self) > MOST_ANEW
        self.changed: set[SharePartitionKey] = set()
        """What a wide one is registered for in another way; of what is not in it any more, nothing is waited for."""
        self.news: set[SharePartitionKey] = set()
        """What was signalled since it was looked at, and told by no wait yet."""
        self.registration: Registration | None = None

    def __setitem__(self, key: SharePartitionKey, missing_offset: int | None) -> None:
        super().__setitem__(key, missing_offset)
        if self.registration is not None:
            self.changed.add(key)

    def __delitem__(self, key: SharePartitionKey) -> None:
        super().__delitem__(key)
        self.news.discard(key)
        if self.registration is not None:
            self.changed.add(key)

    def look_at(self, keys: Collection[SharePartitionKey]) -> None:
        """Forget what was signalled of `keys`, and what was missed of them: the fetch looks at them now."""
        self.update(dict.fromkeys(keys))
        if self.registration is not None:
            self.changed.update(keys)
            self.news.difference_update(keys)

    def leave(self) -> None:
        """Be registered nowhere; the next wait registers all of it."""
        registration, self.registration = self.registration, None
        self.changed.clear()
        if registration is not None:
            registration.end()

    def end(self) -> None:
        """Wait for nothing any more."""
        if self.is_wide:
            self.leave()
            self.news.clear()
