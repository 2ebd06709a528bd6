"""How many requests one connection may send per second, enforced by reading no further. Pure: time is an argument."""

from math import ceil
from typing import Final

_MS: Final = 1000


class RequestRate:
    """Lets a second's worth of requests come at once, and then as many as the rate allows.

    Requests are counted when they were read, so that one chunk may hold more than there is room for: what is too much
    is owed, and nothing is read until it is made up for, as brokers mute a channel that is over its quota
    (ClientRequestQuotaManager). So the average holds, whatever the chunks are.
    """

    __slots__ = ("_left", "_noted_ms", "_per_second", "_seen_count")

    def __init__(self, per_second: int, now_ms: int) -> None:
        self._per_second = per_second
        self._left = float(per_second)
        self._noted_ms = now_ms
        self._seen_count = 0

    def note(self, request_count: int, now_ms: int) -> int:
        """Take note that the connection has sent `request_count` requests by now, since it began.

        Returns for how many milliseconds nothing more should be read; 0 to go on.
        """
        earned = (now_ms - self._noted_ms) * self._per_second / _MS
        spent = request_count - self._seen_count
        self._left = min(self._left + earned, self._per_second) - spent
        self._noted_ms, self._seen_count = now_ms, request_count
        return 0 if self._left >= 0 else ceil(-self._left * _MS / self._per_second)
