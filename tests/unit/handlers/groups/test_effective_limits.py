"""The limits of a group: the operator's, with what the group chose for itself."""

from collections.abc import Callable

import pytest

from kproxy.handlers.groups.effective_limits import EffectiveLimits
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds
from kproxy.handlers.groups.group_configs import ConfigChange, GroupConfigs
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import GroupLimits, ShareLimits
from tests.worlds.set_configurations import set_configs

G, H = GroupId("g"), GroupId("h")


def set_all(configs: GroupConfigs, **values: str) -> None:
    """Let group `g` set these keys, `share.` before each."""
    changes = [ConfigChange(f"share.{key.replace('_', '.')}", 0, value) for key, value in values.items()]
    set_configs(configs, G, *changes)


def test_a_changed_configuration_takes_effect_at_once_and_for_its_group_alone() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    limits = EffectiveLimits(ShareLimits(), configs)
    before = limits.of(G)

    # When
    set_all(
        configs,
        record_lock_duration_ms="15000",
        delivery_count_limit="3",
        partition_max_record_locks="100",
        renew_acknowledge_enable="false",
    )

    # Then
    assert before == ShareLimits()
    assert limits.of(G) == ShareLimits(3, 15_000, 100, is_renew_enabled=False)
    assert limits.of(H) is before


@pytest.mark.parametrize(
    ("become_durable_again", "lock_ms"),
    [
        (lambda configs: configs.restore_all({G: {"share.record.lock.duration.ms": "20000"}}, None), 20_000),
        (lambda configs: configs.restore_all({}, None), ShareLimits().record_lock_duration_ms),
        (lambda _: None, ShareLimits().record_lock_duration_ms),
    ],
    ids=["others are restored", "none are restored", "it is forgotten"],
)
def test_what_is_restored_takes_effect_at_once(
    become_durable_again: Callable[[GroupConfigs], None], lock_ms: int
) -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    limits = EffectiveLimits(ShareLimits(), configs)
    set_all(configs, record_lock_duration_ms="15000")
    before = limits.of(G)

    # When
    configs.forget_all([G])
    become_durable_again(configs)

    # Then
    assert before.record_lock_duration_ms == 15_000
    assert limits.of(G).record_lock_duration_ms == lock_ms


def test_what_a_group_allows_its_members_is_its_own_choice_too() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    operators = GroupLimits(max_size=7)
    limits = EffectiveLimits(ShareLimits(), configs, operators)

    # When
    set_all(configs, session_timeout_ms="50000", heartbeat_interval_ms="6000", assignment_interval_ms="0")

    # Then
    assert limits.of_members(G) == GroupLimits(
        session_timeout_ms=50_000, heartbeat_interval_ms=6_000, assignment_interval_ms=0, max_size=7
    )
    assert limits.of_members(H) is operators


def test_very_many_different_choices_are_no_burden() -> None:
    # Given
    configs = GroupConfigs(GroupConfigBounds())
    limits = EffectiveLimits(ShareLimits(), configs)

    # When
    for duration_ms in range(15_000, 17_000):
        set_all(configs, record_lock_duration_ms=str(duration_ms))
        assert limits.of(G).record_lock_duration_ms == duration_ms

    # Then
    assert len(limits._by_choice) <= 1_000
