"""The `share.` configurations of groups: which keys there are, their values, and what each group has set.

What stands here is in effect; `incremental_alter_configs` makes it durable. A group need not exist to be
configured, and configuring it does not create it. Source: KIP-1240 and `GroupConfig.java`.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kproxy.errors import InvalidConfig, InvalidRequest
from kproxy.handlers.live.offset_reset import OffsetReset, parse_offset_reset
from kproxy.share.identifiers import require_storable_group_id

AUTO_OFFSET_RESET: Final = "share.auto.offset.reset"
RECORD_LOCK_DURATION_MS: Final = "share.record.lock.duration.ms"

DEFAULT_AUTO_OFFSET_RESET: Final = "latest"
DEFAULT_RECORD_LOCK_DURATION_MS: Final = 30_000

MOST_GROUPS_PER_REQUEST: Final = 1_000
"""Groups whose configurations one request may be about. A thousand take some 20 ms, in which nobody else has a turn."""

_SMALLEST_RECORD_LOCK_DURATION_MS: Final = 1_000
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,10}", re.ASCII)


def require_few_groups(resources: Sequence[object]) -> None:
    """Raise InvalidRequest when a request has more than `MOST_GROUPS_PER_REQUEST` of `resources`, which are groups."""
    if len(resources) > MOST_GROUPS_PER_REQUEST:
        raise InvalidRequest(
            f"configurations of {len(resources)} groups in one request, expected {MOST_GROUPS_PER_REQUEST} at most: "
            "ask for them in several requests"
        )


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs does to one key (`AlterConfigOp.OpType`)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


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


_ANY_BOUNDS: Final = GroupConfigBounds(min_record_lock_duration_ms=0, max_record_lock_duration_ms=1 << 31)


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One key of a resource in an IncrementalAlterConfigs request. `operation` is as it came on the wire."""

    name: str
    operation: int
    value: str | None


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


@dataclass(frozen=True, slots=True)
class GroupConfigEntry:
    """A key of one group: what the group has set (None when nothing), and what holds without that."""

    definition: GroupConfigDefinition
    own_value: str | None
    operator_default: str

    @property
    def value(self) -> str:
        """What is in effect."""
        return self.operator_default if self.own_value is None else self.own_value


class GroupConfigs:
    """The `share.` configurations of all groups."""

    __slots__ = ("_bounds", "_values")

    def __init__(self, bounds: GroupConfigBounds) -> None:
        self._bounds = bounds
        self._values: dict[str, dict[str, str]] = {}

    def alter(self, group_id: str, changes: Sequence[ConfigChange], *, validate_only: bool) -> None:
        """Apply all of `changes`, or none. With `validate_only` nothing is applied.

        Raises:
            InvalidRequest: no group is named, a key is named twice, or a value to set is null.
            InvalidConfig: a key is unknown, takes no such operation, or the value is out of its range.
        """
        _require_well_formed(group_id, changes)
        values = dict(self._values.get(group_id, {}))
        for change in changes:
            value = self._value_after(change)
            if value is None:
                values.pop(change.name, None)
            else:
                values[change.name] = value
        if validate_only:
            return
        self._values[group_id] = values
        if not values:
            del self._values[group_id]

    def own_values(self, group_id: str) -> Mapping[str, str]:
        """Return what the group has set."""
        return dict(self._values.get(group_id, {}))

    def restore(self, group_id: str, values: Mapping[str, str]) -> None:
        """Take what is durable for what the group has set, but for keys and values that mean nothing here."""
        known = {name: value for name, value in values.items() if self._is_usable(name, value)}
        self._values.pop(group_id, None)
        if known:
            self._values[group_id] = known

    def forget_all(self, belongs: Callable[[str], bool]) -> None:
        """Forget what was set by every group whose id `belongs` to a slot that is about to be restored."""
        for group_id in [group_id for group_id in self._values if belongs(group_id)]:
            del self._values[group_id]

    def describe(self, group_id: str) -> Sequence[GroupConfigEntry]:
        """Return every key, set or not. Raises InvalidRequest when no group is named."""
        if not group_id:
            raise InvalidRequest("the group name must not be empty")
        values = self._values.get(group_id, {})
        return [
            GroupConfigEntry(
                definition, values.get(definition.name), definition.operator_default(self._bounds)
            )
            for definition in GROUP_CONFIG_DEFINITIONS.values()
        ]

    def offset_reset(self, group_id: str) -> OffsetReset:
        """Return where new share-partitions of the group begin."""
        return parse_offset_reset(
            self._values.get(group_id, {}).get(AUTO_OFFSET_RESET, DEFAULT_AUTO_OFFSET_RESET)
        )

    def record_lock_duration_ms(self, group_id: str) -> int:
        """Return the lock duration of records that the group acquires or renews from now on.

        What the group set under other bounds is brought within those of today.
        """
        own_value = self._values.get(group_id, {}).get(RECORD_LOCK_DURATION_MS)
        if own_value is None:
            return self._bounds.record_lock_duration_ms
        low, high = _lock_duration_bounds(self._bounds)
        return min(max(int(own_value), low), high)

    def _is_usable(self, name: str, value: str) -> bool:
        definition = GROUP_CONFIG_DEFINITIONS.get(name)
        if definition is None:
            return False
        try:
            definition.parse(value, _ANY_BOUNDS)
        except InvalidConfig:
            return False
        return True

    def _value_after(self, change: ConfigChange) -> str | None:
        definition = GROUP_CONFIG_DEFINITIONS.get(change.name)
        if definition is None:
            known = " and ".join(GROUP_CONFIG_DEFINITIONS)
            raise InvalidConfig(f"the group config '{change.name}' is not served by kproxy, only {known} are")
        match change.operation:
            case ConfigOperation.DELETE:
                return None
            case ConfigOperation.SET:
                assert change.value is not None
                return definition.parse(change.value, self._bounds)
            case ConfigOperation.APPEND | ConfigOperation.SUBTRACT:
                raise InvalidConfig(f"'{change.name}' is no list, nothing can be added to it or taken away")
            case unknown:
                raise InvalidRequest(f"there is no config operation {unknown}")


def _require_well_formed(group_id: str, changes: Sequence[ConfigChange]) -> None:
    if not group_id:
        raise InvalidRequest("default group resources are not allowed: the group name is empty")
    require_storable_group_id(group_id)
    repeated = [name for name, count in Counter(change.name for change in changes).items() if count > 1]
    if repeated:
        raise InvalidRequest(f"duplicate config keys: {', '.join(repeated)}")
    nulls = [
        change.name
        for change in changes
        if change.value is None and change.operation != ConfigOperation.DELETE
    ]
    if nulls:
        raise InvalidRequest(f"null value not supported for: {', '.join(nulls)}")


def _parse_offset_reset(value: str, _bounds: GroupConfigBounds) -> str:
    parse_offset_reset(value)
    return value


def _parse_record_lock_duration(value: str, bounds: GroupConfigBounds) -> str:
    if _INTEGER.fullmatch(value.strip()) is None:
        raise InvalidConfig(f"'{value}' is no number of milliseconds for {RECORD_LOCK_DURATION_MS}")
    duration_ms = int(value)
    low, high = _lock_duration_bounds(bounds)
    if not low <= duration_ms <= high:
        raise InvalidConfig(f"{RECORD_LOCK_DURATION_MS} must be between {low} and {high}, not {duration_ms}")
    return str(duration_ms)


def _lock_duration_bounds(bounds: GroupConfigBounds) -> tuple[int, int]:
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
