"""How often a connection was refused in a row, by API: how long its next refusal is held grows with that."""


class RefusalStreaks:
    """One for each connection, and dropped with it; it has an entry for each API that is being refused."""

    __slots__ = ("_lengths",)

    def __init__(self) -> None:
        self._lengths: dict[int, int] | None = None

    def length(self, api_key: int) -> int:
        """Return how many requests with `api_key` were refused since one was not."""
        return 0 if self._lengths is None else self._lengths.get(api_key, 0)

    def refused(self, api_key: int) -> None:
        """Note one more."""
        if self._lengths is None:
            self._lengths = {}
        self._lengths[api_key] = self.length(api_key) + 1

    def answered(self, api_key: int) -> None:
        """Note one that was not refused."""
        if self._lengths is not None:
            self._lengths.pop(api_key, None)
