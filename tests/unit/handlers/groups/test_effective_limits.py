"""The limits of a group: the operator's, with the lock duration that the group chose."""

from kproxy.handlers.groups.effective_limits import EffectiveLimits
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds
from kproxy.handlers.groups.group_configs import ConfigChange, GroupConfigs
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import ShareLimits


def test_a_changed_configuration_takes_effect_at_once_and_for_its_group_alone() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds(record_lock_duration_ms=30_000))
    limits = EffectiveLimits(ShareLimits(delivery_count_limit=7), configs)
    before = limits.of(GroupId("g"))

    # When
    configs.alter("g", [ConfigChange("share.record.lock.duration.ms", 0, "15000")], validate_only=False)

    # Then
    assert before == ShareLimits(delivery_count_limit=7, record_lock_duration_ms=30_000)
    assert limits.of(GroupId("g")) == ShareLimits(delivery_count_limit=7, record_lock_duration_ms=15_000)
    assert limits.of(GroupId("h")) is before
