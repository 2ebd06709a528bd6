"""Fetches that sleep until there may be something to acquire, and how they are woken at the end.

When the process is told to stop, clients are answered with what there is instead of being cut off. When a client is
gone, nobody waits for its fetch, and what it had sent behind it is to be served.
"""

from collections.abc import Collection, Mapping

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.wake_keys import wake_key
from kproxy.handlers.ports import Availability
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import SharePartitionKey


class ParkedFetches:
    """Sleeps on the port `Availability`, and remembers who does."""

    __slots__ = ("_availability", "_interests", "is_ending")

    def __init__(self, availability: Availability) -> None:
        self.is_ending = False
        """Nobody parks any more: whoever asks for records is answered with what there is."""
        self._availability = availability
        self._interests: dict[int, dict[int, Mapping[SharePartitionKey, int | None]]] = {}
        """Those of each connection."""

    def __len__(self) -> int:
        return sum(map(len, self._interests.values()))

    async def wait(
        self,
        interest: Mapping[SharePartitionKey, int | None],
        until_ms: int,
        context: RequestContext,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Collection[SharePartitionKey]:
        """Sleep as `Availability.wait` does; return at once when it is the end, or the client is gone.

        The first key of `interest`, if there is any, is one that this fetch alone sleeps on.
        """
        if self.is_ending or context.caller.is_gone:
            return ()
        connection_id = context.connection_id
        interest = interest or {wake_key(): None}
        of_connection = self._interests.setdefault(connection_id, {})
        of_connection[id(interest)] = interest
        try:
            return await self._availability.wait(interest, until_ms, isolation)
        finally:
            del of_connection[id(interest)]
            if not of_connection:
                del self._interests[connection_id]

    def forsake(self, connection_id: int) -> None:
        """Wake the fetches of a connection that went away."""
        for interest in tuple(self._interests.get(connection_id, {}).values()):
            self._availability.signal(next(iter(interest)))

    def end(self) -> None:
        """Wake everybody, and let nobody sleep again."""
        self.is_ending = True
        for connection_id in tuple(self._interests):
            self.forsake(connection_id)
