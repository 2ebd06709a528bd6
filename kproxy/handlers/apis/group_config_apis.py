"""Configurations of groups as entries of the registry: API keys 32, 33, 44 and 74.

DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources: only their part about share groups is
served; the rest is the broker's.
"""

from collections.abc import Callable, Sequence

from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.apis.configs.alter_configs import AlterConfigsHandler
from kproxy.handlers.apis.configs.describe_configs import DescribeConfigsHandler
from kproxy.handlers.apis.configs.incremental_alter_configs import IncrementalAlterConfigsHandler
from kproxy.handlers.apis.configs.list_config_resources import ListConfigResourcesHandler, refuse_resources
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.handlers.ports import GroupLog, Observer
from kproxy.handlers.registry import ServedApi
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.message_schema import Message
from kproxy.wire.messages.alter_configs_response import AlterConfigsResponse
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse


def group_config_apis(
    configs: GroupConfigs,
    group_log: GroupLog,
    observer: Observer,
    authorization: Authorization,
    *,
    bounds: AdministrationBounds,
) -> Sequence[ServedApi]:
    """Return one entry for each of the four APIs."""
    legacy = AlterConfigsHandler(observer, authorization)
    alter = IncrementalAlterConfigsHandler(configs, group_log, observer, authorization=authorization)
    describe = DescribeConfigsHandler(configs, group_log, observer, authorization=authorization)
    listing = ListConfigResourcesHandler(configs, group_log, authorization, bounds=bounds)
    return (
        ServedApi(ApiKey.ALTER_CONFIGS, 0, 2, legacy.serve, _blank(AlterConfigsResponse)),
        ServedApi(
            ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, alter.serve, _blank(IncrementalAlterConfigsResponse)
        ),
        ServedApi(ApiKey.DESCRIBE_CONFIGS, 1, 4, describe.serve, _blank(DescribeConfigsResponse)),
        ServedApi(ApiKey.LIST_CONFIG_RESOURCES, 1, 1, listing.serve, refuse_parts=refuse_resources),
    )


def _blank(answer: type[Message]) -> Callable[..., Message]:
    """Return what makes answers with no place for an error: merged, every resource says that nobody answered for it."""

    def empty(*, error_code: int, error_message: str | None) -> Message:
        del error_code, error_message
        return answer()

    return empty
