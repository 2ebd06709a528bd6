"""Fetches that sleep until there may be something to acquire, and how all of them are woken at the end.

When the process is told to stop, clients are answered with what there is instead of being cut off.
"""

from collections.abc import Collection, Mapping
from typing import Final

from kproxy.handlers.ports import Availability
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId

_THE_END: Final = SharePartitionKey(GroupId(""), TopicId(bytes(16)), -1)
"""No share-partition: what a fetch waits for that waits for none."""


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

    async def wait(
        self, interest: Mapping[SharePartitionKey, int | None], until_ms: int
    ) -> Collection[SharePartitionKey]:
        """Sleep as `Availability.wait` does; return at once when it is the end."""
        if self.is_ending:
            return ()
        interest = interest or {_THE_END: None}
        self._interests[id(interest)] = interest
        try:
            return await self._availability.wait(interest, until_ms)
        finally:
            del self._interests[id(interest)]

    def end(self) -> None:
        """Wake everybody, and let nobody sleep again."""
        self.is_ending = True
        for key in {key for interest in self._interests.values() for key in interest}:
            self._availability.signal(key)
