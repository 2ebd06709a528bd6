"""One answer to a request about group configurations, from those to its two halves."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from kproxy.error_codes import ErrorCode
from kproxy.interception.rewrites.group_config_requests import (
    MOST_BESIDE_GROUPS,
    SHARE_CONFIG_PREFIXES,
    Resource,
    beyond_most,
    identity_of,
)
from kproxy.wire.messages import alter_configs_response as legacy_response
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.alter_configs_response import AlterConfigsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

_TYPE_UNKNOWN_TO_BROKER: Final = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION})
"""What brokers older than the resource type GROUP say of it."""


_Answer = TypeVar(
    "_Answer",
    legacy_response.AlterConfigsResourceResponse,
    AlterConfigsResourceResponse,
    DescribeConfigsResult,
)


def merge_alter(
    request: IncrementalAlterConfigsRequest,
    local: IncrementalAlterConfigsResponse | None,
    upstream: IncrementalAlterConfigsResponse | None,
) -> IncrementalAlterConfigsResponse:
    """Return one answer to `request` from the answers to its halves; None is a half that was not asked.

    A resource that both answered is in error when either is; kproxy's own error is told first.
    """
    ours, theirs = ([] if half is None else half.responses for half in (local, upstream))
    merged = upstream if upstream is not None else IncrementalAlterConfigsResponse()
    return replace(merged, responses=_in_order(request.resources, ours, theirs, _ALTERED))


def merge_legacy_alter(
    request: AlterConfigsRequest, local: AlterConfigsResponse | None, upstream: AlterConfigsResponse | None
) -> AlterConfigsResponse:
    """Return one answer to `request` from the answers to its halves; None is a half that was not asked."""
    ours, theirs = ([] if half is None else half.responses for half in (local, upstream))
    merged = upstream if upstream is not None else AlterConfigsResponse()
    return replace(
        merged,
        responses=_in_order(request.resources, ours, theirs, _ALTERED_LEGACY),
    )


def merge_describe(
    request: DescribeConfigsRequest,
    local: DescribeConfigsResponse | None,
    upstream: DescribeConfigsResponse | None,
) -> DescribeConfigsResponse:
    """Return one answer to `request` from the answers to its halves; None is a half that was not asked.

    The broker's own `share.` entries of a GROUP resource are replaced by kproxy's. A broker too old for the
    type GROUP leaves kproxy's entries alone; any other error of the broker is the resource's. What is in neither half
    because there are too many is INVALID_REQUEST.
    """
    ours, theirs = ([] if half is None else half.results for half in (local, upstream))
    merged = upstream if upstream is not None else DescribeConfigsResponse()
    theirs = [*theirs, *map(_left_out, beyond_most(request))]
    return replace(merged, results=_in_order(request.resources, ours, theirs, _DESCRIBED))


def _in_order(
    resources: Iterable[Resource],
    ours: Iterable[_Answer],
    theirs: Iterable[_Answer],
    kind: "_Kind[_Answer]",
) -> list[_Answer]:
    """Return an answer for each resource, in order, and then what the broker answered that nobody asked."""
    from_us: _AnswersByResource[_Answer] = _AnswersByResource(ours)
    from_broker: _AnswersByResource[_Answer] = _AnswersByResource(theirs)
    answers: list[_Answer] = []
    for resource in resources:
        identity = identity_of(resource)
        own, brokers = from_us.take(identity), from_broker.take(identity)
        if own is None or brokers is None:
            answers.append(own or brokers or _unanswered(resource, kind.answer_class))
        else:
            answers.append(kind.join(own, brokers))
    answers.extend(from_broker.remaining())
    return answers


class _AnswersByResource(Generic[_Answer]):
    """Answers by the resource they are for; those for a repeated resource leave in the order they came."""

    __slots__ = ("_first", "_later")

    def __init__(self, answers: Iterable[_Answer]) -> None:
        self._first: dict[tuple[int, str], _Answer] = {}
        self._later: dict[tuple[int, str], deque[_Answer]] = {}
        for answer in answers:
            identity = identity_of(answer)
            if self._first.setdefault(identity, answer) is not answer:
                self._later.setdefault(identity, deque()).append(answer)

    def take(self, identity: tuple[int, str]) -> _Answer | None:
        """Return the next answer for a resource, None when there is none left."""
        if not self._first:
            return None
        first = self._first.pop(identity, None)
        if self._later and (later := self._later.get(identity)):
            self._first[identity] = later.popleft()
        return first

    def remaining(self) -> list[_Answer]:
        """Return the answers that nobody took."""
        remaining = list(self._first.values())
        for waiting in self._later.values():
            remaining.extend(waiting)
        return remaining


def _unanswered(resource: Resource, answer_class: type[_Answer]) -> _Answer:
    return answer_class(
        error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
        error_message="There was no answer for this resource.",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _in_error(ours: _Answer, theirs: _Answer) -> _Answer:
    """Return the answer that is an error, kproxy's if both are."""
    return ours if ours.error_code != ErrorCode.NONE or theirs.error_code == ErrorCode.NONE else theirs


def _left_out(resource: Resource) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=ErrorCode.INVALID_REQUEST,
        error_message=(
            f"beside groups, {MOST_BESIDE_GROUPS} other resources at most are described in one request: "
            "ask for the others in requests without groups"
        ),
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


@dataclass(frozen=True, slots=True)
class _Kind(Generic[_Answer]):
    """What the answers of an API are, and how two about one resource become one, kproxy's first."""

    answer_class: type[_Answer]
    join: Callable[[_Answer, _Answer], _Answer]


_ALTERED: Final = _Kind(AlterConfigsResourceResponse, _in_error)
_ALTERED_LEGACY: Final = _Kind(legacy_response.AlterConfigsResourceResponse, _in_error)
_DESCRIBED: Final = _Kind(DescribeConfigsResult, _joined)
