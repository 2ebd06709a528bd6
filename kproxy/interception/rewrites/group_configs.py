"""Group configurations (IncrementalAlterConfigs 44, DescribeConfigs 32), shared with the backing broker.

kproxy serves the keys that begin with `share.` or `errors.deadletterqueue.` of the resource type GROUP; every other
key and every other resource is the broker's. A request is split in two, both halves are answered, and the answers are
merged in the order of the request's resources.

Known differences from one broker that owns all keys: a GROUP resource with keys of both kinds is changed in
two steps, so that one half can succeed while the resource answers the other half's error; and a broker that
does not know the type GROUP refuses the whole upstream half, as it does without kproxy.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

GROUP_RESOURCE_TYPE: Final = 32
"""`ConfigResource.Type.GROUP` (KIP-848)."""

SHARE_CONFIG_PREFIXES: Final = ("share.", "errors.deadletterqueue.")
"""How the names of all configurations of share groups begin (KIP-932, KIP-1191): none of them is the broker's."""

_TYPE_UNKNOWN_TO_BROKER: Final = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION})
"""What brokers older than the resource type GROUP say of it."""

NO_ANSWER: Final = "There was no answer for this resource."


@dataclass(frozen=True, slots=True)
class AlterSplit:
    """The two halves of an IncrementalAlterConfigs request; None where nothing remains."""

    local: IncrementalAlterConfigsRequest | None
    upstream: IncrementalAlterConfigsRequest | None


@dataclass(frozen=True, slots=True)
class DescribeSplit:
    """The two halves of a DescribeConfigs request; None where nothing remains."""

    local: DescribeConfigsRequest | None
    upstream: DescribeConfigsRequest | None


def split_alter(request: IncrementalAlterConfigsRequest) -> AlterSplit:
    """Return what kproxy serves of `request`, and the rest; `request` itself stays as it is.

    A GROUP resource without any key is kproxy's. One that stands twice in the request is kproxy's as a whole
    when a `share.` key is in it, because only the whole request shows that it has to be refused.
    """
    claimed = _claimed_as_a_whole(request.resources)
    local: list[AlterConfigsResource] = []
    upstream: list[AlterConfigsResource] = []
    for resource in request.resources:
        is_claimed = _identity(resource) in claimed
        ours, theirs = (resource, None) if is_claimed else _divide_altered(resource)
        local.extend([] if ours is None else [ours])
        upstream.extend([] if theirs is None else [theirs])
    return AlterSplit(local=_altering(request, local), upstream=_altering(request, upstream))


def split_describe(request: DescribeConfigsRequest) -> DescribeSplit:
    """Return what kproxy serves of `request`, and the rest; `request` itself stays as it is.

    A GROUP resource without a list of keys, or with an empty one, asks for all of them and goes to both.
    """
    local: list[DescribeConfigsResource] = []
    upstream: list[DescribeConfigsResource] = []
    for resource in request.resources:
        ours, theirs = _divide_described(resource)
        local.extend([] if ours is None else [ours])
        upstream.extend([] if theirs is None else [theirs])
    return DescribeSplit(local=_describing(request, local), upstream=_describing(request, upstream))


def merge_alter(
    request: IncrementalAlterConfigsRequest,
    local: IncrementalAlterConfigsResponse | None,
    upstream: IncrementalAlterConfigsResponse | None,
) -> IncrementalAlterConfigsResponse:
    """Return one answer to `request` from the answers to its halves; None is a half that was not asked.

    A resource that both answered is in error when either is; kproxy's own error is told first.
    """
    ours = AnswersByResource([] if local is None else local.responses)
    theirs = AnswersByResource([] if upstream is None else upstream.responses)
    answers = [_altered(asked, ours.take(asked), theirs.take(asked)) for asked in request.resources]
    merged = upstream if upstream is not None else IncrementalAlterConfigsResponse()
    return replace(merged, responses=[*answers, *theirs.remaining()])


def merge_describe(
    request: DescribeConfigsRequest,
    local: DescribeConfigsResponse | None,
    upstream: DescribeConfigsResponse | None,
) -> DescribeConfigsResponse:
    """Return one answer to `request` from the answers to its halves; None is a half that was not asked.

    The broker's own `share.` entries of a GROUP resource are replaced by kproxy's. A broker too old for the
    type GROUP leaves kproxy's entries alone; any other error of the broker is the resource's.
    """
    ours = AnswersByResource([] if local is None else local.results)
    theirs = AnswersByResource([] if upstream is None else upstream.results)
    answers = [_described(asked, ours.take(asked), theirs.take(asked)) for asked in request.resources]
    merged = upstream if upstream is not None else DescribeConfigsResponse()
    return replace(merged, results=[*answers, *theirs.remaining()])


class _Resource(Protocol):
    """What names a resource in all four messages."""

    resource_type: int
    resource_name: str


_Answer = TypeVar("_Answer", bound=_Resource)


class AnswersByResource(Generic[_Answer]):
    """Answers by the resource they are for; those for a repeated resource leave in the order they came."""

    __slots__ = ("_first", "_later")

    def __init__(self, answers: Iterable[_Answer]) -> None:
        self._first: dict[tuple[int, str], _Answer] = {}
        self._later: dict[tuple[int, str], deque[_Answer]] = {}
        for answer in answers:
            identity = _identity(answer)
            if self._first.setdefault(identity, answer) is not answer:
                self._later.setdefault(identity, deque()).append(answer)

    def take(self, resource: _Resource) -> _Answer | None:
        """Return the next answer for `resource`, None when there is none left."""
        identity = _identity(resource)
        first = self._first.pop(identity, None)
        if later := self._later.get(identity):
            self._first[identity] = later.popleft()
        return first

    def remaining(self) -> list[_Answer]:
        """Return the answers that nobody took."""
        later = (answer for waiting in self._later.values() for answer in waiting)
        return [*self._first.values(), *later]


def _identity(resource: _Resource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _repeated(resources: Iterable[_Resource]) -> frozenset[tuple[int, str]]:
    counts = Counter(map(_identity, resources))
    return frozenset(identity for identity, count in counts.items() if count > 1)


def _claimed_as_a_whole(resources: Sequence[AlterConfigsResource]) -> frozenset[tuple[int, str]]:
    """Return the repeated GROUP resources that have a key of kproxy's in any of their places."""
    repeated = _repeated(resources)
    return frozenset(
        _identity(resource)
        for resource in resources
        if _identity(resource) in repeated
        and resource.resource_type == GROUP_RESOURCE_TYPE
        and any(config.name.startswith(SHARE_CONFIG_PREFIXES) for config in resource.configs)
    )


def _divide_altered(
    resource: AlterConfigsResource,
) -> tuple[AlterConfigsResource | None, AlterConfigsResource | None]:
    if resource.resource_type != GROUP_RESOURCE_TYPE:
        return None, resource
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


def _altered(
    resource: AlterConfigsResource,
    ours: AlterConfigsResourceResponse | None,
    theirs: AlterConfigsResourceResponse | None,
) -> AlterConfigsResourceResponse:
    answers = [answer for answer in (ours, theirs) if answer is not None]
    if not answers:
        return AlterConfigsResourceResponse(
            error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
            error_message=NO_ANSWER,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
    errors = [answer for answer in answers if answer.error_code != ErrorCode.NONE]
    return errors[0] if errors else answers[0]


def _described(
    resource: DescribeConfigsResource,
    ours: DescribeConfigsResult | None,
    theirs: DescribeConfigsResult | None,
) -> DescribeConfigsResult:
    if ours is not None and theirs is not None:
        return _joined(ours, theirs)
    answer = ours if ours is not None else theirs
    if answer is not None:
        return answer
    return DescribeConfigsResult(
        error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
        error_message=NO_ANSWER,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _joined(ours: DescribeConfigsResult, theirs: DescribeConfigsResult) -> DescribeConfigsResult:
    if ours.error_code != ErrorCode.NONE or theirs.error_code in _TYPE_UNKNOWN_TO_BROKER:
        return ours
    if theirs.error_code != ErrorCode.NONE:
        return theirs
    others = [config for config in theirs.configs if not config.name.startswith(SHARE_CONFIG_PREFIXES)]
    return replace(theirs, configs=[*others, *ours.configs])


def _altering(
    request: IncrementalAlterConfigsRequest, resources: list[AlterConfigsResource]
) -> IncrementalAlterConfigsRequest | None:
    return replace(request, resources=resources) if resources else None


def _describing(
    request: DescribeConfigsRequest, resources: list[DescribeConfigsResource]
) -> DescribeConfigsRequest | None:
    return replace(request, resources=resources) if resources else None
