"""Which records a group is given: all that are replicated, or only those of transactions that were committed.

Source: KIP-932, `share.isolation.level`; `org.apache.kafka.common.IsolationLevel`.
"""

from enum import IntEnum

from kproxy.errors import InvalidConfig


class IsolationLevel(IntEnum):
    """The numbers are those of Fetch."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


def parse_isolation_level(text: str) -> IsolationLevel:
    """Return what a configuration names, in lower case as Kafka writes it. Raises InvalidConfig."""
    for level in IsolationLevel:
        if text == level.name.lower():
            return level
    raise InvalidConfig(
        f"Invalid value {text[:100]} for configuration share.isolation.level: "
        "String must be one of: read_committed, read_uncommitted"
    )
