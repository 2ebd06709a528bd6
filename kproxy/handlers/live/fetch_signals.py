"""What was signalled of share-partitions while a fetch was busy with something else.

`Availability.wait` hears what is signalled while it sleeps, and nothing that was signalled before. A fetch that
looks at its share-partitions, and then awaits the read of some of them, would sleep on beside what became available
in another meanwhile. So it listens from its look on.
"""

from collections.abc import Callable, Collection, Mapping

from kproxy.handlers.ports import Availability
from kproxy.share.identifiers import SharePartitionKey


class FetchSignals:
    """What was signalled of the share-partitions of one fetch since it looked at each of them."""

    __slots__ = ("_heard",)

    def __init__(self) -> None:
        self._heard: set[SharePartitionKey] = set()

    def hear(self, key: SharePartitionKey) -> None:
        """Note that `key` was signalled."""
        self._heard.add(key)

    def look_at(self, key: SharePartitionKey) -> None:
        """Forget what was signalled of `key`: the fetch looks at it now."""
        self._heard.discard(key)

    def look_at_all(self) -> Collection[SharePartitionKey]:
        """Return, and forget, what was signalled: the fetch looks at all of that now.

        What it has refused meanwhile is signalled on, and is no news that a look could make old.
        """
        heard, self._heard = self._heard, set()
        return heard

    @property
    def is_news(self) -> bool:
        """Whether anything was signalled that the fetch has not looked at since."""
        return bool(self._heard)


class HeardAvailability:
    """The port `Availability`, and who listens to its signals without sleeping on it."""

    __slots__ = ("_availability", "_listeners")

    def __init__(self, availability: Availability) -> None:
        self._availability = availability
        self._listeners: dict[SharePartitionKey, set[FetchSignals]] = {}

    def listen(self, keys: Collection[SharePartitionKey]) -> FetchSignals:
        """Return what notes the signals of `keys` from now on; `silence` must be called in the end."""
        signals = FetchSignals()
        for key in keys:
            self._listeners.setdefault(key, set()).add(signals)
        return signals

    def silence(self, signals: FetchSignals, keys: Collection[SharePartitionKey]) -> None:
        """End what `listen` began for the same `keys`."""
        for key in keys:
            listeners = self._listeners[key]
            listeners.discard(signals)
            if not listeners:
                del self._listeners[key]

    async def wait(
        self, interest: Mapping[SharePartitionKey, int | None], until_ms: int
    ) -> Collection[SharePartitionKey]:
        """Sleep as the port does."""
        return await self._availability.wait(interest, until_ms)

    def signal(self, key: SharePartitionKey) -> None:
        """Wake who waits for `key`, and let those hear of it who listen."""
        for signals in self._listeners.get(key, ()):
            signals.hear(key)
        self._availability.signal(key)

    def signal_all(self, belongs: Callable[[SharePartitionKey], bool]) -> None:
        """Signal every share-partition that some fetch listens to and that `belongs`: there is news of its slot."""
        for key in [key for key in self._listeners if belongs(key)]:
            self.signal(key)
