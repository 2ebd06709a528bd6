"""The `share.` configurations of groups: what each group has set. Which keys there are is in `group_config_keys`.

What is durable is in effect, and nothing else: `incremental_alter_configs` says what is on its way to the log, and when
it is there. So nothing durable can follow from a value that is refused later. A group need not exist to be configured,
and configuring it does not create it. Source: KIP-1240 and `GroupConfig.java`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

from kproxy.errors import InvalidConfig, InvalidRequest, PolicyViolation
from kproxy.handlers.administration_bounds import count_of_names
from kproxy.handlers.groups.group_config_keys import (
    AUTO_OFFSET_RESET,
    DEFAULT_AUTO_OFFSET_RESET,
    DEFAULT_ISOLATION_LEVEL,
    GROUP_CONFIG_DEFINITIONS,
    HEARTBEAT_INTERVAL_MS,
    ISOLATION_LEVEL,
    PARTITION_MAX_RECORD_LOCKS,
    RENEW_ACKNOWLEDGE_ENABLE,
    SESSION_TIMEOUT_MS,
    GroupConfigBounds,
    GroupConfigDefinition,
)
from kproxy.handlers.isolation_levels import IsolationLevel, parse_isolation_level
from kproxy.handlers.live.offset_reset import OffsetReset, parse_offset_reset
from kproxy.share.identifiers import require_storable_group_id
from kproxy.share.register.placed_ids import PlacedIds
from kproxy.wording import counted

MOST_GROUPS: Final = 100_000
"""Groups that a process has, and groups that have configured something: so many of a slot come in some 40 ms."""

MOST_GROUPS_PER_REQUEST: Final = 1_000
"""Groups whose configurations one request may be about, those with long ids counting for several (`count_of_names`).
A thousand take some 20 ms, in which nobody else has a turn."""

_KEYS_OF_WAITS: Final = (ISOLATION_LEVEL, PARTITION_MAX_RECORD_LOCKS)
"""What a fetch waits for depends on these: how far it may read, and whether there is room in the window."""


class NamedResource(Protocol):
    """A resource of any request about configurations."""

    resource_name: str


def are_few_groups(resources: Iterable[NamedResource]) -> bool:
    """Tell whether a request may be about so many groups, which its `resources` are."""
    return count_of_names(resource.resource_name for resource in resources) <= MOST_GROUPS_PER_REQUEST


def require_few_groups(resources: Sequence[NamedResource]) -> None:
    """Raise InvalidRequest when a request has more `resources`, which are groups, than it may be about."""
    if not are_few_groups(resources):
        raise InvalidRequest(
            f"configurations of {counted(len(resources), 'group')} in one request, "
            f"expected {MOST_GROUPS_PER_REQUEST} at most: ask for them in several requests"
        )


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs does to one key (`AlterConfigOp.OpType`)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One key of a resource in an IncrementalAlterConfigs request. `operation` is as it came on the wire."""

    name: str
    operation: int
    value: str | None


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


@dataclass(frozen=True, slots=True, eq=False)
class ConfigsUnderWay:
    """What a group will have set when this is durable. One that is begun is no other, whatever stands in it."""

    group_id: str
    values: Mapping[str, str]


class GroupConfigs:
    """The `share.` configurations of all groups.

    `on_altered` is told of a group whose fetches wait for something else now, once, when nothing more of the group
    is under way: many alterations may become durable together. It must not raise.
    A number that was set under other bounds is brought within those of today whenever it is used.

    Several alterations of one group may be under way, each made of what the one before leads to. They end in the order
    in which they began: where one is refused, so is every later one that was made of it, before another is begun.
    """

    __slots__ = (
        "_bounds",
        "_coming",
        "_most_groups",
        "_under_way",
        "_untold",
        "_values",
        "generation",
        "on_altered",
        "placed",
    )

    def __init__(
        self,
        bounds: GroupConfigBounds,
        *,
        most_groups: int = MOST_GROUPS,
        on_altered: Callable[[Collection[str]], None] = lambda _ids: None,
    ) -> None:
        self.on_altered = on_altered
        self._most_groups = most_groups
        self._bounds = bounds
        self._values: dict[str, Mapping[str, str]] = {}
        self._under_way: dict[str, dict[ConfigsUnderWay, None]] = {}
        self._coming: set[str] = set()
        """Groups that have set nothing, and may be about to."""
        self._untold: set[str] = set()
        """Groups that `on_altered` is to be told of."""
        self.generation = 0
        """Another number whenever a group may have set something else; not when what it set was forgotten."""
        self.placed: PlacedIds[str] = PlacedIds()
        """The `known_ids`, by place."""

    def values_after(self, group_id: str, changes: Sequence[ConfigChange]) -> Mapping[str, str]:
        """Return what the group would have set after what is under way and all of `changes`. Nothing is changed.

        Raises:
            InvalidRequest: no group is named, a key is named twice, or a value to set is null.
            InvalidConfig: a key is unknown, takes no such operation, or the value is out of its range.
            PolicyViolation: it would be one more group that has set something than there may be.
        """
        _require_well_formed(group_id, changes)
        values = dict(self._last_values(group_id))
        for change in changes:
            value = self._value_after(change)
            if value is None:
                values.pop(change.name, None)
            else:
                values[change.name] = value
        self._require_consistent(values)
        if values and group_id not in self._values and group_id not in self._coming:
            self._require_room()
        return values

    def begin(self, group_id: str, changes: Sequence[ConfigChange]) -> ConfigsUnderWay:
        """Let all of `changes`, or none, be under way: nothing of them is in effect yet. Raises as `values_after`.

        `come_into_effect` or `give_up` is to follow, whatever becomes of them.
        """
        begun = ConfigsUnderWay(group_id, self.values_after(group_id, changes))
        if group_id not in self._values:
            if group_id not in self._under_way:
                self.placed.add(group_id)
            if begun.values:
                self._coming.add(group_id)
        self._under_way.setdefault(group_id, {})[begun] = None
        return begun

    def come_into_effect(self, begun: ConfigsUnderWay) -> None:
        """Let `begun` be what the group has set: it is durable. Nothing when it was forgotten."""
        if self._is_forgotten(begun):
            return
        before = self._values.get(begun.group_id, {})
        self._put(begun.group_id, begun.values)
        if any(before.get(name) != begun.values.get(name) for name in _KEYS_OF_WAITS):
            self._untold.add(begun.group_id)
        self._end(begun)

    def give_up(self, begun: ConfigsUnderWay) -> None:
        """Forget `begun`: it was refused, or nobody knows whether it is durable. What is in effect stays so."""
        if not self._is_forgotten(begun):
            self._end(begun)

    @property
    def group_ids(self) -> Collection[str]:
        """The groups that have set anything at all."""
        return self._values.keys()

    @property
    def known_ids(self) -> Collection[str]:
        """The groups that have set anything, and those that something is under way of."""
        return self._values.keys() | self._under_way.keys()

    def own_values(self, group_id: str) -> Mapping[str, str]:
        """Return what the group has set."""
        return dict(self._values.get(group_id, {}))

    def restore_all(self, values: Mapping[str, Mapping[str, str]], place: int | None) -> None:
        """Take what is durable of many groups at `place`, all of it usable, for what these have set.

        Nothing is known of them before, and nothing under way.
        """
        self.generation += 1
        self._values.update(values)
        self.placed.add_all(values.keys(), place)

    def forget_all(self, group_ids: Iterable[str]) -> list[Mapping[str, str]]:
        """Forget what these groups have set, and what is under way: nobody knows whether it is true.

        Returns what they had set. `placed` has none of them any more. What was under way has no effect here, whatever
        becomes of it: who loads it finds it in the log.
        """
        forgotten: list[Mapping[str, str]] = []
        for each in group_ids:
            self._under_way.pop(each, None)
            self._coming.discard(each)
            self._untold.discard(each)
            if (values := self._values.pop(each, None)) is not None:
                forgotten.append(values)
        return forgotten

    def _require_room(self) -> None:
        count = len(self._values) + len(self._coming)
        if count >= self._most_groups:
            raise PolicyViolation(
                f"{counted(count, 'group')} have configurations here; kproxy.share.groups.max={self._most_groups}"
            )

    def _last_values(self, group_id: str) -> Mapping[str, str]:
        """Return what the group will have set when all that is under way is durable."""
        if under_way := self._under_way.get(group_id):
            return next(reversed(under_way)).values
        return self._values.get(group_id, {})

    def _is_forgotten(self, begun: ConfigsUnderWay) -> bool:
        return begun not in self._under_way.get(begun.group_id, ())

    def _put(self, group_id: str, values: Mapping[str, str]) -> None:
        """Let these be in effect. `_end` is to follow."""
        self.generation += 1
        if values:
            self._values[group_id] = values
            self._coming.discard(group_id)
        elif self._values.pop(group_id, None) is not None:
            self._coming.add(group_id)  # what is under way behind this may set something again

    def _end(self, ended: ConfigsUnderWay) -> None:
        """Have it under way no more, and tell `on_altered` when that was the last."""
        group_id = ended.group_id
        under_way = self._under_way[group_id]
        del under_way[ended]
        if under_way:
            return
        del self._under_way[group_id]
        self._coming.discard(group_id)
        if group_id not in self._values:
            self.placed.discard(group_id)
        if group_id in self._untold:
            self._untold.discard(group_id)
            self.on_altered((group_id,))

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

    def isolation_level(self, group_id: str) -> IsolationLevel:
        """Return which records the group is given from now on."""
        values = self._values.get(group_id)
        if values is None:
            return IsolationLevel.READ_UNCOMMITTED
        return parse_isolation_level(values.get(ISOLATION_LEVEL, DEFAULT_ISOLATION_LEVEL))

    def has_values(self, group_id: str) -> bool:
        """Tell whether the group has set anything at all."""
        return group_id in self._values

    def number(self, group_id: str, name: str) -> int:
        """Return the number of this key that is in effect for the group from now on."""
        return self._number_in(self._values.get(group_id, {}), name)

    def is_renew_enabled(self, group_id: str) -> bool:
        """Tell whether members of the group may renew locks from now on."""
        return self._values.get(group_id, {}).get(RENEW_ACKNOWLEDGE_ENABLE, "true") == "true"

    def _number_in(self, values: Mapping[str, str], name: str) -> int:
        bounds_in = GROUP_CONFIG_DEFINITIONS[name].bounds_in
        assert bounds_in is not None, f"{name} is no number"
        bounds = bounds_in(self._bounds)
        own_value = values.get(name)
        return bounds.default if own_value is None else bounds.clamp(int(own_value))

    def _require_consistent(self, values: Mapping[str, str]) -> None:
        session_ms = self._number_in(values, SESSION_TIMEOUT_MS)
        heartbeat_ms = self._number_in(values, HEARTBEAT_INTERVAL_MS)
        if session_ms <= heartbeat_ms:
            raise InvalidConfig(
                f"{SESSION_TIMEOUT_MS} ({session_ms}) must be greater than {HEARTBEAT_INTERVAL_MS} ({heartbeat_ms})"
            )

    def _value_after(self, change: ConfigChange) -> str | None:
        definition = GROUP_CONFIG_DEFINITIONS.get(change.name)
        if definition is None and change.operation == ConfigOperation.DELETE:
            return None
        if definition is None:
            known = ", ".join(GROUP_CONFIG_DEFINITIONS)
            raise InvalidConfig(f"Unknown group config name: {change.name[:100]}; kproxy serves {known}")
        match change.operation:
            case ConfigOperation.DELETE:
                return None
            case ConfigOperation.SET:
                assert change.value is not None
                value = definition.parse(change.value)
                definition.require_allowed(value, self._bounds)
                return value
            case ConfigOperation.APPEND | ConfigOperation.SUBTRACT:
                raise InvalidConfig(f"'{change.name}' is no list, nothing can be added to it or taken away")
            case unknown:
                raise InvalidRequest(f"there is no config operation {unknown}")


def usable_values(values: Mapping[str, str]) -> Mapping[str, str]:
    """Return what is durable of one group without keys and values that mean nothing here."""
    return {name: value for name, value in values.items() if _is_usable(name, value)}


def _is_usable(name: str, value: str) -> bool:
    definition = GROUP_CONFIG_DEFINITIONS.get(name)
    if definition is None:
        return False
    try:
        definition.parse(value)
    except InvalidConfig:
        return False
    return True


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
