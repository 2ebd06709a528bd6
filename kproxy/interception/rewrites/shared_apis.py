"""The APIs that kproxy and the broker serve together: each answers its half of a request, and both become one answer.

Group configurations (DescribeConfigs 32, AlterConfigs 33, IncrementalAlterConfigs 44): kproxy serves the keys that
begin with `share.` or `errors.deadletterqueue.` of the resource type GROUP; every other key and every other resource
is the broker's. A request is split in two, both halves are answered, and the answers are merged in the order of the
request's resources.

Known differences from one broker that owns all keys: a GROUP resource with keys of both kinds is changed in
two steps, so that one half can succeed while the resource answers the other half's error; and a broker that
does not know the type GROUP refuses the whole upstream half, as it does without kproxy.

DeleteGroups (42): kproxy answers what is about share groups, and what is left goes to the broker.

ListGroups (16): the broker is asked for everything, and kproxy answers share groups. ListConfigResources (74): kproxy
answers which groups it has configurations of, and the broker everything, if it can.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kproxy.interception.listed_resources import merge_resources, wants_groups
from kproxy.interception.rewrites.group_config_answers import merge_alter, merge_describe, merge_legacy_alter
from kproxy.interception.rewrites.group_config_requests import (
    Halves,
    names_a_group,
    split_alter,
    split_describe,
    split_legacy_alter,
)
from kproxy.interception.rewrites.share_group_answers import (
    deletions_left,
    merge_deletions,
    merge_listings,
    wants_share_groups,
)
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest


@dataclass(frozen=True, slots=True)
class SharedApi:
    """An API that kproxy and the broker serve together: the halves of its requests, and one answer from two."""

    split: Callable[[Any], Halves[Any]]
    merge: Callable[[Any, Any, Any], Message]
    left: Callable[[Any, Any], Message | None] | None = None
    """What goes to the broker when kproxy's answer has to be known first: made of the request and that answer."""


def _ours_first(request: Message) -> Halves[Any]:
    """Return a request that kproxy is asked first, as a whole."""
    return Halves(local=request, upstream=None)


def _groups_first(request: ListConfigResourcesRequest) -> Halves[Any]:
    """Return what kproxy is asked first: nothing when groups are not wanted."""
    return Halves(local=request if wants_groups(request) else None, upstream=None)


def _share_groups_first(request: ListGroupsRequest) -> Halves[Any]:
    """Return what kproxy is asked: nothing when share groups are not wanted."""
    return Halves(local=request if wants_share_groups(request) else None, upstream=None)


def is_shared(message: Message) -> bool:
    """Whether a request of one of these APIs has a part for kproxy; if not, it is the broker's as it came."""
    match message:
        case AlterConfigsRequest() | IncrementalAlterConfigsRequest() | DescribeConfigsRequest():
            return names_a_group(message)
        case _:
            return True


SHARED_APIS: Final[Mapping[int, SharedApi]] = {
    ApiKey.DESCRIBE_CONFIGS: SharedApi(split_describe, merge_describe),
    ApiKey.ALTER_CONFIGS: SharedApi(split_legacy_alter, merge_legacy_alter),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: SharedApi(split_alter, merge_alter),
    ApiKey.LIST_CONFIG_RESOURCES: SharedApi(_groups_first, merge_resources),
    ApiKey.LIST_GROUPS: SharedApi(_share_groups_first, merge_listings),
    ApiKey.DELETE_GROUPS: SharedApi(_ours_first, merge_deletions, deletions_left),
}
"""By API key. Who calls `split` with a message of the API gives `merge` its answers, of the same API."""
