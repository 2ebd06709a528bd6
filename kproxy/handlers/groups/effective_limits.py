"""The limits of each group: what the operator set, with what the group chose for itself."""

from dataclasses import replace

from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import ShareLimits


class EffectiveLimits:
    """Read at each use, so that a changed group configuration takes effect at once."""

    __slots__ = ("_base", "_by_duration", "_configs")

    def __init__(self, base: ShareLimits, configs: GroupConfigs) -> None:
        self._base = base
        self._configs = configs
        self._by_duration: dict[int, ShareLimits] = {}

    def of(self, group_id: GroupId) -> ShareLimits:
        """Return the limits of a group, whether or not it exists. The lock duration is that of its configuration."""
        duration_ms = self._configs.record_lock_duration_ms(group_id)
        limits = self._by_duration.get(duration_ms)
        if limits is None:
            limits = replace(self._base, record_lock_duration_ms=duration_ms)
            self._by_duration[duration_ms] = limits
        return limits
