"""The `share.` configurations that a group may set: each key with its type, its default and its range.

Source: KIP-1240, `GroupConfig.java` of Kafka 4.3.1, and its words.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kproxy.errors import InvalidConfig
from kproxy.handlers.isolation_levels import IsolationLevel, parse_isolation_level
from kproxy.handlers.live.offset_reset import parse_offset_reset

AUTO_OFFSET_RESET: Final = "share.auto.offset.reset"
RENEW_ACKNOWLEDGE_ENABLE: Final = "share.renew.acknowledge.enable"
SESSION_TIMEOUT_MS: Final = "share.session.timeout.ms"
HEARTBEAT_INTERVAL_MS: Final = "share.heartbeat.interval.ms"
DELIVERY_COUNT_LIMIT: Final = "share.delivery.count.limit"
RECORD_LOCK_DURATION_MS: Final = "share.record.lock.duration.ms"
ASSIGNMENT_INTERVAL_MS: Final = "share.assignment.interval.ms"
ISOLATION_LEVEL: Final = "share.isolation.level"
PARTITION_MAX_RECORD_LOCKS: Final = "share.partition.max.record.locks"

DEFAULT_AUTO_OFFSET_RESET: Final = "latest"
DEFAULT_ISOLATION_LEVEL: Final = IsolationLevel.READ_UNCOMMITTED.name.lower()

_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,10}", re.ASCII)
_INT_LIMIT: Final = 1 << 31
_BOOLEANS: Final = ("true", "false")


class ConfigType(IntEnum):
    """The type of a value as DescribeConfigs names it."""

    BOOLEAN = 1
    STRING = 2
    INT = 3


@dataclass(frozen=True, slots=True)
class OperatorBounds:
    """What groups get unasked of one number, and what they may choose, both ends inclusive."""

    default: int
    low: int
    high: int

    def clamp(self, value: int) -> int:
        """Bring what a group set, perhaps under other bounds, within those of today (KIP-1240)."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True)
class GroupConfigBounds:
    """What the operator allows: Kafka's `group.share.X`, `group.share.min.X` and `group.share.max.X`."""

    session_timeout_ms: OperatorBounds = OperatorBounds(45_000, 45_000, 60_000)
    heartbeat_interval_ms: OperatorBounds = OperatorBounds(5_000, 5_000, 15_000)
    delivery_count_limit: OperatorBounds = OperatorBounds(5, 2, 10)
    record_lock_duration_ms: OperatorBounds = OperatorBounds(30_000, 15_000, 60_000)
    assignment_interval_ms: OperatorBounds = OperatorBounds(1_000, 0, 15_000)
    partition_max_record_locks: OperatorBounds = OperatorBounds(2_000, 100, 4_000)


@dataclass(frozen=True, slots=True)
class GroupConfigDefinition:
    """One key. `operator_key` is the setting that gives its default, None when there is no such setting.

    `parse` returns the value as it will be read; it raises InvalidConfig for what can never be one.
    """

    name: str
    config_type: ConfigType
    documentation: str
    built_in_default: str
    parse: Callable[[str], str]
    operator_key: str | None = None
    bounds_in: Callable[[GroupConfigBounds], OperatorBounds] | None = None
    """Of a number: what the operator says of it."""

    def operator_default(self, bounds: GroupConfigBounds) -> str:
        """Return what holds for a group that sets nothing."""
        return self.built_in_default if self.bounds_in is None else str(self.bounds_in(bounds).default)

    def require_allowed(self, value: str, bounds: GroupConfigBounds) -> None:
        """Raise InvalidConfig when the operator does not allow a value that `parse` returned."""
        if self.bounds_in is None:
            return
        allowed, number = self.bounds_in(bounds), int(value)
        low_key, high_key = (
            f"group.{self.name.replace('share.', f'share.{end}.', 1)}" for end in ("min", "max")
        )
        if number < allowed.low:
            raise InvalidConfig(
                f"{self.name} must be greater than or equal to {low_key}, {allowed.low}, not {number}"
            )
        if number > allowed.high:
            raise InvalidConfig(
                f"{self.name} must be less than or equal to {high_key}, {allowed.high}, not {number}"
            )


def _invalid(name: str, value: str, why: str) -> InvalidConfig:
    return InvalidConfig(f"Invalid value {value[:100]} for configuration {name}: {why}")


def _number(
    name: str,
    documentation: str,
    bounds_in: Callable[[GroupConfigBounds], OperatorBounds],
    *,
    at_least: int,
) -> GroupConfigDefinition:
    def parse(value: str) -> str:
        text = value.strip()
        if _INTEGER.fullmatch(text) is None or not -_INT_LIMIT <= int(text) < _INT_LIMIT:
            raise _invalid(name, value, "Not a number of type INT")
        if int(text) < at_least:
            raise _invalid(name, value, f"Value must be at least {at_least}")
        return str(int(text))

    return GroupConfigDefinition(
        name,
        ConfigType.INT,
        documentation,
        str(bounds_in(GroupConfigBounds()).default),
        parse,
        f"group.{name}",
        bounds_in,
    )


def _parse_offset_reset(value: str) -> str:
    parse_offset_reset(value)
    return value


def _parse_isolation_level(value: str) -> str:
    parse_isolation_level(value)
    return value


def _parse_renew(value: str) -> str:
    text = value.strip().lower()
    if text not in _BOOLEANS:
        raise _invalid(RENEW_ACKNOWLEDGE_ENABLE, value, "Expected value to be either true or false")
    return text


GROUP_CONFIG_DEFINITIONS: Final[Mapping[str, GroupConfigDefinition]] = {
    definition.name: definition
    for definition in (
        GroupConfigDefinition(
            AUTO_OFFSET_RESET,
            ConfigType.STRING,
            "Where a share-partition of the group starts when it is first read: latest, earliest, or "
            "by_duration:<ISO-8601 duration> for the first record that is not older.",
            DEFAULT_AUTO_OFFSET_RESET,
            _parse_offset_reset,
        ),
        GroupConfigDefinition(
            RENEW_ACKNOWLEDGE_ENABLE,
            ConfigType.BOOLEAN,
            "Whether members may renew the locks of records that they hold.",
            "true",
            _parse_renew,
        ),
        _number(
            SESSION_TIMEOUT_MS,
            "For how many milliseconds a member may be silent before it is taken for lost.",
            lambda bounds: bounds.session_timeout_ms,
            at_least=1,
        ),
        _number(
            HEARTBEAT_INTERVAL_MS,
            "After how many milliseconds members are told to send their next heartbeat.",
            lambda bounds: bounds.heartbeat_interval_ms,
            at_least=1,
        ),
        _number(
            DELIVERY_COUNT_LIMIT,
            "How often a record is delivered before it is archived.",
            lambda bounds: bounds.delivery_count_limit,
            at_least=2,
        ),
        _number(
            RECORD_LOCK_DURATION_MS,
            "For how many milliseconds a record is locked for the member that acquired it.",
            lambda bounds: bounds.record_lock_duration_ms,
            at_least=1_000,
        ),
        _number(
            ASSIGNMENT_INTERVAL_MS,
            "The least time in milliseconds between two assignments of the group's partitions.",
            lambda bounds: bounds.assignment_interval_ms,
            at_least=0,
        ),
        GroupConfigDefinition(
            ISOLATION_LEVEL,
            ConfigType.STRING,
            "Which records the group is given: read_uncommitted for all, or read_committed for those up to the "
            "last stable offset, without those of transactions that were aborted.",
            DEFAULT_ISOLATION_LEVEL,
            _parse_isolation_level,
        ),
        _number(
            PARTITION_MAX_RECORD_LOCKS,
            "How many records of one share-partition may be in flight at once.",
            lambda bounds: bounds.partition_max_record_locks,
            at_least=100,
        ),
    )
}
"""Every key that kproxy serves, by name, in the order in which Kafka 4.3.1 lists them."""
