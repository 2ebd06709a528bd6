"""Configurations that groups have set, where a test has no log that they become durable in."""

from kproxy.handlers.groups.group_configs import ConfigChange, GroupConfigs


def set_configs(configs: GroupConfigs, group_id: str, *changes: ConfigChange) -> None:
    """Let a group set these, durable at once."""
    configs.come_into_effect(configs.begin(group_id, changes))
