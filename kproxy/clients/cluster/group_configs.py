"""Configurations of share groups: the resource GROUP of DescribeConfigs and IncrementalAlterConfigs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.clients.cluster.cluster_client import ClusterClient
from kproxy.clients.cluster.refusals import only_result, require_success
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse

_GROUP: Final = 32
"""`ConfigResource.Type.GROUP`."""
_SET: Final = 0
_DELETE: Final = 1
_OF_OTHER_TYPES: Final = ("consumer.", "streams.")
"""What configurations of groups of the other types begin with."""
_SOURCES: Final[Mapping[int, str]] = {
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""`ConfigEntry.ConfigSource`, in the words that kafka-configs prints."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """A configuration of a group: its value in effect, and where that comes from."""

    name: str
    value: str | None
    source: str


def describe_configs(cluster: ClusterClient, group_id: str) -> list[GroupConfig]:
    """Return the configurations that concern a share group of this id, by name, whether or not there is one."""
    return cluster.persistently(lambda: _described(cluster, group_id))


def alter_configs(
    cluster: ClusterClient,
    group_id: str,
    *,
    values: Mapping[str, str],
    deleted: Iterable[str],
    is_dry_run: bool,
) -> None:
    """Set configurations, and delete others; or let the cluster only say whether it would.

    All of it or nothing happens. Raises ClientFailed, with what the cluster says of a wrong name or value.
    """
    configs = [AlterableConfig(name, _SET, value) for name, value in values.items()]
    configs += [AlterableConfig(name, _DELETE, None) for name in deleted]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(_GROUP, group_id, configs)], is_dry_run)
    # Said twice, it comes to the same: a lost connection is no reason not to try again.
    cluster.persistently(lambda: _alter(cluster, group_id, request))


def _described(cluster: ClusterClient, group_id: str) -> list[GroupConfig]:
    request = DescribeConfigsRequest([DescribeConfigsResource(_GROUP, group_id, None)])
    answer = cluster.ask_any(request, DescribeConfigsResponse)
    asked = f"configurations of group {group_id!r} cannot be described"
    result = only_result(answer.results, asked)
    require_success(result.error_code, asked, result.error_message)
    found = [
        GroupConfig(each.name, each.value, _SOURCES.get(each.config_source, "UNKNOWN"))
        for each in result.configs
        if not each.name.startswith(_OF_OTHER_TYPES)
    ]
    return sorted(found, key=lambda config: config.name)


def _alter(cluster: ClusterClient, group_id: str, request: IncrementalAlterConfigsRequest) -> None:
    answer = cluster.ask_any(request, IncrementalAlterConfigsResponse)
    asked = f"configurations of group {group_id!r} cannot be altered"
    result = only_result(answer.responses, asked)
    require_success(result.error_code, asked, result.error_message)
