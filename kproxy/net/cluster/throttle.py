"""`Throttle`: how long a broker whose quotas are exceeded reads nothing from a connection (KIP-219)."""

import asyncio
from math import ceil
from typing import Final

THROTTLED: Final = "throttled"
"""The reason of a `BrokerFailure`: a request was not sent, because the broker's quotas want none for too long."""

LONGEST_THROTTLE_MS: Final = 300_000
"""No throttle time is taken to be longer: a quota that was far too small may have been raised meanwhile."""


class Throttle:
    """The throttle times of one connection."""

    __slots__ = ("_until_s",)

    def __init__(self) -> None:
        self._until_s = 0.0

    @property
    def remaining_ms(self) -> int:
        """How much longer nothing is read, in milliseconds; 0 when it is."""
        if not self._until_s:
            return 0
        return max(0, ceil(1000 * (self._until_s - asyncio.get_running_loop().time())))

    def begin(self, throttle_ms: int) -> None:
        """Take note of a throttle time that begins now; one that ends later goes on."""
        until_s = asyncio.get_running_loop().time() + min(throttle_ms, LONGEST_THROTTLE_MS) / 1000
        self._until_s = max(self._until_s, until_s)
