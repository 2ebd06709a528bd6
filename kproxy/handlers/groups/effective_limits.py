"""The limits of each group: what the operator set, with what the group chose for itself."""

from dataclasses import replace

from kproxy.handlers.groups.group_config_keys import (
    ASSIGNMENT_INTERVAL_MS,
    DELIVERY_COUNT_LIMIT,
    HEARTBEAT_INTERVAL_MS,
    PARTITION_MAX_RECORD_LOCKS,
    RECORD_LOCK_DURATION_MS,
    SESSION_TIMEOUT_MS,
)
from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import GroupLimits, ShareLimits


class EffectiveLimits:
    """Read at each use, so that a changed group configuration takes effect at once.

    What the operator set for all groups stands in `share` and `group`, and as the defaults of `configs`.
    """

    __slots__ = ("_by_choice", "_by_group", "_configs", "_generation", "_group", "_share")

    def __init__(self, share: ShareLimits, configs: GroupConfigs, group: GroupLimits | None = None) -> None:
        self._share = share
        self._group = group or GroupLimits()
        self._configs = configs
        self._by_choice: dict[tuple[int, int, int, bool], ShareLimits] = {}
        self._by_group: dict[GroupId, ShareLimits] = {}
        self._generation = configs.generation

    def of(self, group_id: GroupId) -> ShareLimits:
        """Return what a group, whether or not it exists, allows on each of its share-partitions."""
        configs = self._configs
        if configs.generation != self._generation:
            self._generation = configs.generation
            self._by_group.clear()
        # Of groups that have set nothing no text is kept.
        if not configs.has_values(group_id):
            return self._share
        limits = self._by_group.get(group_id)
        if limits is None:
            limits = self._by_group[group_id] = self._chosen(group_id)
        return limits

    def _chosen(self, group_id: GroupId) -> ShareLimits:
        configs = self._configs
        choice = (
            configs.number(group_id, DELIVERY_COUNT_LIMIT),
            configs.number(group_id, RECORD_LOCK_DURATION_MS),
            configs.number(group_id, PARTITION_MAX_RECORD_LOCKS),
            configs.is_renew_enabled(group_id),
        )
        limits = self._by_choice.get(choice)
        if limits is None:
            limits = ShareLimits(*choice)
            if len(self._by_choice) >= _MOST_CHOICES:
                self._by_choice.clear()
            self._by_choice[choice] = limits
        return limits

    def of_members(self, group_id: GroupId) -> GroupLimits:
        """Return what a group, whether or not it exists, allows its members."""
        configs = self._configs
        if not configs.has_values(group_id):
            return self._group
        return replace(
            self._group,
            session_timeout_ms=configs.number(group_id, SESSION_TIMEOUT_MS),
            heartbeat_interval_ms=configs.number(group_id, HEARTBEAT_INTERVAL_MS),
            assignment_interval_ms=configs.number(group_id, ASSIGNMENT_INTERVAL_MS),
        )


_MOST_CHOICES = 1_000
"""So many different choices of limits are remembered."""
