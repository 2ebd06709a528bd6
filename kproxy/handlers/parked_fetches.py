"""Fetches that sleep until there may be something to acquire, and how all of them are woken at once.

When the process is told to stop, clients are answered with what there is instead of being cut off.
"""

from collections.abc import Callable, Mapping

from kproxy.handlers.ports import Availability
from kproxy.share.identifiers import SharePartitionKey


class ParkedFetches:
    """Sleeps on the port `Availability`, and remembers who does."""

    __slots__ = ("_availability", "_interests", "is_ending")

    def __init__(self, availability: Availability) -> None:
        self.is_ending = False
        """Nobody parks any more: whoever asks for records is answered with what there is."""
        self._availability = availability
        self._interests: dict[int, Mapping[SharePartitionKey, int | None]] = {}

    def __len__(self) -> int:
        return len(self._interests)

    async def wait(self, interest: Mapping[SharePartitionKey, int | None], until_ms: int) -> None:
        """Sleep as `Availability.wait` does; return at once when it is the end."""
        if self.is_ending:
            return
        self._interests[id(interest)] = interest
        try:
            await self._availability.wait(interest, until_ms)
        finally:
            del self._interests[id(interest)]

    def wake(self, belongs: Callable[[SharePartitionKey], bool]) -> None:
        """Wake everybody who waits for a share-partition that `belongs`: there is news of its slot."""
        for key in {key for interest in self._interests.values() for key in interest if belongs(key)}:
            self._availability.signal(key)

    def end(self) -> None:
        """Wake everybody, and let nobody sleep again."""
        self.is_ending = True
        for key in {key for interest in self._interests.values() for key in interest}:
            self._availability.signal(key)
