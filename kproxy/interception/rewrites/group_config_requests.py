"""Which half of a request about group configurations is kproxy's, and which the backing broker's.

AlterConfigs replaces all configurations of a resource at once, and brokers of Kafka 4 take `share.` keys and store them
where nobody reads them, since kproxy serves these. So a resource with such a key is kproxy's there as a whole, which
refuses it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final, Generic, Protocol, TypeVar

from kproxy.interception.listed_resources import GROUP_RESOURCE_TYPE
from kproxy.wire.messages import alter_configs_request as legacy_request
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SHARE_CONFIG_PREFIXES: Final = ("share.", "errors.deadletterqueue.")
"""How the names of all configurations of share groups begin (KIP-932, KIP-1191): none of them is the broker's."""


MOST_BESIDE_GROUPS: Final = 100
"""Resources of other types that are described together with groups: a broker answers 5 to 20 kB for each, which are
decoded, merged and encoded while nobody else has a turn. Without a group in it a request is not looked into."""


class Resource(Protocol):
    """What names a resource in all six messages."""

    resource_type: int
    resource_name: str


_Request = TypeVar("_Request", AlterConfigsRequest, IncrementalAlterConfigsRequest, DescribeConfigsRequest)
_Altered = TypeVar("_Altered", legacy_request.AlterConfigsResource, AlterConfigsResource)


@dataclass(frozen=True, slots=True)
class Halves(Generic[_Request]):
    """What kproxy serves of a request, and the rest, which is the broker's; None where nothing remains."""

    local: _Request | None
    upstream: _Request | None


def split_alter(request: IncrementalAlterConfigsRequest) -> Halves[IncrementalAlterConfigsRequest]:
    """Return the halves of `request`, which itself stays as it is.

    A GROUP resource without any key is kproxy's. One that stands twice in the request is kproxy's as a whole
    when a `share.` key is in it, because only the whole request shows that it has to be refused.
    """
    claimed = _with_share_keys(request.resources)
    claimed = claimed and claimed & _repeated(request.resources)
    return _halves(
        request,
        [
            (resource, None) if claimed and identity_of(resource) in claimed else _divide_altered(resource)
            for resource in request.resources
        ],
    )


def split_legacy_alter(request: AlterConfigsRequest) -> Halves[AlterConfigsRequest]:
    """Return the halves of `request`, which itself stays as it is: resources are not divided."""
    claimed = _with_share_keys(request.resources)
    return _halves(
        request,
        [
            (resource, None) if claimed and identity_of(resource) in claimed else (None, resource)
            for resource in request.resources
        ],
    )


def split_describe(request: DescribeConfigsRequest) -> Halves[DescribeConfigsRequest]:
    """Return the halves of `request`, which itself stays as it is.

    A GROUP resource without a list of keys, or with an empty one, asks for all of them and goes to both. Of other
    resources the first `MOST_BESIDE_GROUPS` are the broker's.
    """
    places = count(1)
    return _halves(
        request,
        [
            _divide_described(resource)
            for resource in request.resources
            if resource.resource_type == GROUP_RESOURCE_TYPE or next(places) <= MOST_BESIDE_GROUPS
        ],
    )


def beyond_most(request: DescribeConfigsRequest) -> Sequence[DescribeConfigsResource]:
    """Return the resources that are no groups and in neither half, because there are too many."""
    return [each for each in request.resources if each.resource_type != GROUP_RESOURCE_TYPE][
        MOST_BESIDE_GROUPS:
    ]


def names_a_group(
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest | DescribeConfigsRequest,
) -> bool:
    """Whether any of the resources is a group; if none is, the request is the broker's as it came."""
    return any(resource.resource_type == GROUP_RESOURCE_TYPE for resource in request.resources)


def _halves(request: _Request, divided: Sequence[tuple[Any, Any]]) -> Halves[_Request]:
    """Return the halves of a request from those of its resources, kproxy's first; None is none."""
    ours = [local for local, _ in divided if local is not None]
    theirs = [upstream for _, upstream in divided if upstream is not None]
    return Halves(
        local=replace(request, resources=ours) if ours else None,
        upstream=replace(request, resources=theirs) if theirs else None,
    )


def identity_of(resource: Resource) -> tuple[int, str]:
    """Return type and name of a resource."""
    return resource.resource_type, resource.resource_name


def _repeated(resources: Iterable[Resource]) -> frozenset[tuple[int, str]]:
    counts = Counter(map(identity_of, resources))
    return frozenset(identity for identity, count in counts.items() if count > 1)


def _with_share_keys(resources: Iterable[_Altered]) -> frozenset[tuple[int, str]]:
    """Return the GROUP resources that have a key of kproxy's in any of their places."""
    return frozenset(
        identity_of(resource)
        for resource in resources
        if resource.configs
        and resource.resource_type == GROUP_RESOURCE_TYPE
        and any(config.name.startswith(SHARE_CONFIG_PREFIXES) for config in resource.configs)
    )


def _divide_altered(
    resource: AlterConfigsResource,
) -> tuple[AlterConfigsResource | None, AlterConfigsResource | None]:
    if resource.resource_type != GROUP_RESOURCE_TYPE:
        return None, resource
    if not resource.configs:
        return resource, None
    ours = [config for config in resource.configs if config.name.startswith(SHARE_CONFIG_PREFIXES)]
    theirs = [config for config in resource.configs if not config.name.startswith(SHARE_CONFIG_PREFIXES)]
    if not theirs:
        return resource, None
    if not ours:
        return None, resource
    return replace(resource, configs=ours), replace(resource, configs=theirs)


def _divide_described(
    resource: DescribeConfigsResource,
) -> tuple[DescribeConfigsResource | None, DescribeConfigsResource | None]:
    if resource.resource_type != GROUP_RESOURCE_TYPE:
        return None, resource
    if not resource.configuration_keys:
        return resource, resource
    ours = [key for key in resource.configuration_keys if key.startswith(SHARE_CONFIG_PREFIXES)]
    theirs = [key for key in resource.configuration_keys if not key.startswith(SHARE_CONFIG_PREFIXES)]
    return (
        replace(resource, configuration_keys=ours) if ours else None,
        replace(resource, configuration_keys=theirs) if theirs else None,
    )
