"""Moments between records, as Kafka's tools read them."""

import time
from datetime import UTC, datetime


def next_millisecond() -> str:
    """Return the time of day when it is later than all timestamps so far."""
    later_ms = time.time_ns() // 1_000_000 + 1
    while time.time_ns() // 1_000_000 < later_ms:
        pass
    return (
        datetime.fromtimestamp(later_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
