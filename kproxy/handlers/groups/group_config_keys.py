"""The `share.` configurations that a group may set: each key with its type, its default and its range.

Source: KIP-1240 and `GroupConfig.java`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kproxy.errors import InvalidConfig
from kproxy.handlers.isolation_levels import parse_isolation_level
from kproxy.handlers.live.offset_reset import parse_offset_reset

AUTO_OFFSET_RESET: Final = "share.auto.offset.reset"
ISOLATION_LEVEL: Final = "share.isolation.level"
RECORD_LOCK_DURATION_MS: Final = "share.record.lock.duration.ms"

DEFAULT_AUTO_OFFSET_RESET: Final = "latest"
DEFAULT_ISOLATION_LEVEL: Final = "read_uncommitted"
DEFAULT_RECORD_LOCK_DURATION_MS: Final = 30_000

_SMALLEST_RECORD_LOCK_DURATION_MS: Final = 1_000
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,10}", re.ASCII)


class ConfigType(IntEnum):
    """The type of a value as DescribeConfigs names it."""

    STRING = 2
    INT = 3


@dataclass(frozen=True, slots=True)
class GroupConfigBounds:
    """What the operator allows groups to choose, both ends inclusive, and what they get unasked.

    The fields are Kafka's `group.share.record.lock.duration.ms` and the `min` and `max` of it.
    """

    record_lock_duration_ms: int = DEFAULT_RECORD_LOCK_DURATION_MS
    min_record_lock_duration_ms: int = 15_000
    max_record_lock_duration_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class GroupConfigDefinition:
    """One key. `operator_key` is the setting that gives its default, None when there is no such setting."""

    name: str
    config_type: ConfigType
    documentation: str
    operator_key: str | None
    built_in_default: str
    operator_default: Callable[[GroupConfigBounds], str]
    parse: Callable[[str, GroupConfigBounds], str]


def _parse_offset_reset(value: str, _bounds: GroupConfigBounds) -> str:
    parse_offset_reset(value)
    return value


def _parse_isolation_level(value: str, _bounds: GroupConfigBounds) -> str:
    parse_isolation_level(value)
    return value


def _parse_record_lock_duration(value: str, bounds: GroupConfigBounds) -> str:
    if _INTEGER.fullmatch(value.strip()) is None:
        raise InvalidConfig(f"'{value}' is no number of milliseconds for {RECORD_LOCK_DURATION_MS}")
    duration_ms = int(value)
    low, high = lock_duration_bounds(bounds)
    if not low <= duration_ms <= high:
        raise InvalidConfig(f"{RECORD_LOCK_DURATION_MS} must be between {low} and {high}, not {duration_ms}")
    return str(duration_ms)


def lock_duration_bounds(bounds: GroupConfigBounds) -> tuple[int, int]:
    """Return the shortest and the longest lock that a group may have, in milliseconds."""
    low = max(bounds.min_record_lock_duration_ms, _SMALLEST_RECORD_LOCK_DURATION_MS)
    return low, bounds.max_record_lock_duration_ms


GROUP_CONFIG_DEFINITIONS: Final[Mapping[str, GroupConfigDefinition]] = {
    definition.name: definition
    for definition in (
        GroupConfigDefinition(
            name=AUTO_OFFSET_RESET,
            config_type=ConfigType.STRING,
            documentation=(
                "Where a share-partition of the group starts when it is first read: latest, earliest, or "
                "by_duration:<ISO-8601 duration> for the first record that is not older."
            ),
            operator_key=None,
            built_in_default=DEFAULT_AUTO_OFFSET_RESET,
            operator_default=lambda _bounds: DEFAULT_AUTO_OFFSET_RESET,
            parse=_parse_offset_reset,
        ),
        GroupConfigDefinition(
            name=ISOLATION_LEVEL,
            config_type=ConfigType.STRING,
            documentation=(
                "Which records the group is given: read_uncommitted for all, or read_committed for those up to the "
                "last stable offset, without those of transactions that were aborted."
            ),
            operator_key=None,
            built_in_default=DEFAULT_ISOLATION_LEVEL,
            operator_default=lambda _bounds: DEFAULT_ISOLATION_LEVEL,
            parse=_parse_isolation_level,
        ),
        GroupConfigDefinition(
            name=RECORD_LOCK_DURATION_MS,
            config_type=ConfigType.INT,
            documentation="For how many milliseconds a record is locked for the member that acquired it.",
            operator_key="group.share.record.lock.duration.ms",
            built_in_default=str(DEFAULT_RECORD_LOCK_DURATION_MS),
            operator_default=lambda bounds: str(bounds.record_lock_duration_ms),
            parse=_parse_record_lock_duration,
        ),
    )
}
"""Every key that kproxy serves, by name, in the order DescribeConfigs lists them."""
