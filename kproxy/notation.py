"""How field names and instants are written for people and scripts, wherever kproxy shows one."""

import re
from datetime import UTC, datetime


def camel_case(name: str) -> str:
    """Return a snake_case name in camelCase; the `is_` of a boolean goes, as Kafka's tools have it."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name.removeprefix("is_"))


def iso_time(epoch_ms: int) -> str:
    """Return an instant as ISO 8601 in UTC with milliseconds, such as `2026-11-21T12:00:00.000Z`."""
    seconds, milliseconds = divmod(epoch_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"
