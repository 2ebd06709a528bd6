"""`Throttle`: how long a broker whose quotas are exceeded reads nothing from a connection (KIP-219)."""

import asyncio
from functools import cache
from math import ceil
from typing import Final

from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey

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


_CORRELATION_ID_BYTES: Final = 4
_THROTTLE_TIME_BYTES: Final = 4


def throttle_ms_in(api_key: int, version: int, frame: memoryview) -> int:
    """Return the throttle time that an answer begins with, which is not decoded; 0 where it begins with none."""
    begin = _throttle_time_at(api_key, version)
    if not begin:
        return 0
    return int.from_bytes(frame[begin : begin + _THROTTLE_TIME_BYTES], "big", signed=True)


def end_of_throttle_time(api_key: int, version: int) -> int:
    """Return how many bytes an answer has up to the end of its throttle time, with which it begins."""
    begin = _throttle_time_at(api_key, version)
    assert begin, f"API key {api_key} version {version} begins with no throttle time"
    return begin + _THROTTLE_TIME_BYTES


@cache
def _throttle_time_at(api_key: int, version: int) -> int:
    schema = codecs.response_class(api_key).SCHEMA
    first = next(field for field in schema.fields if version in field.versions)
    if first.name != "throttle_time_ms":
        return 0
    is_flexible = schema.flexible_versions is not None and version in schema.flexible_versions
    # Brokers send no tags in the header, and in that of ApiVersions there is no room for any.
    return _CORRELATION_ID_BYTES + int(is_flexible and api_key != ApiKey.API_VERSIONS)
