"""One answer about groups of all types, from kproxy's about share groups and the backing broker's about the others.

To delete groups kproxy is asked first, for it knows which of them are share groups. What is left of the request goes to
the broker, which knows nothing of share groups: it lists none of them, and says GROUP_ID_NOT_FOUND of each.
"""

from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse

SHARE_TYPE: Final = "share"
"""The type of share groups, and what they are for, as both are spelt on the wire (`Group.GroupType`)."""

MAY_BE_ANOTHERS: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""With these kproxy may say that it cannot tell whether a group is a share group: then the broker is asked, too."""


def deletions_left(request: DeleteGroupsRequest, local: DeleteGroupsResponse) -> DeleteGroupsRequest | None:
    """Return what the broker is asked to delete: what is no share group, as far as is known; None for nothing."""
    settled = {result.group_id for result in local.results if result.error_code not in MAY_BE_ANOTHERS}
    names = [name for name in dict.fromkeys(request.groups_names) if name not in settled]
    # An empty request is the broker's as well: it has nothing to do, but may have a throttle time to tell.
    return replace(request, groups_names=names) if names or not request.groups_names else None


def merge_deletions(
    request: DeleteGroupsRequest, local: DeleteGroupsResponse, upstream: DeleteGroupsResponse | None
) -> DeleteGroupsResponse:
    """Return one result for each group of `request`, in order; the broker's where that knows the group.

    None is a broker that was not asked.
    """
    if upstream is None and [each.group_id for each in local.results] == [
        *dict.fromkeys(request.groups_names)
    ]:
        return local
    merged = upstream if upstream is not None else DeleteGroupsResponse()
    ours = {result.group_id: result for result in local.results}
    theirs = {result.group_id: result for result in merged.results}
    results = [
        _result(name, ours.get(name), theirs.get(name)) for name in dict.fromkeys(request.groups_names)
    ]
    return replace(merged, results=results)


def _result(
    name: str, ours: DeletableGroupResult | None, theirs: DeletableGroupResult | None
) -> DeletableGroupResult:
    if theirs is not None and (ours is None or theirs.error_code != ErrorCode.GROUP_ID_NOT_FOUND):
        return theirs
    return ours or DeletableGroupResult(
        name, ErrorCode.UNKNOWN_SERVER_ERROR, "nobody answered for this group"
    )


def wants_share_groups(request: ListGroupsRequest) -> bool:
    """Whether groups of this type are among those that `request` is about."""
    return not request.types_filter or SHARE_TYPE in {name.lower() for name in request.types_filter}


def merge_listings(
    request: ListGroupsRequest, local: ListGroupsResponse | None, upstream: ListGroupsResponse | None
) -> ListGroupsResponse:
    """Return the broker's list with kproxy's share groups behind it; an error of either is that of the whole.

    None is a half that was not asked. A share group that both have is kproxy's.
    """
    del request
    if local is None or upstream is None or upstream.error_code:
        return upstream or local or ListGroupsResponse()
    ours = {group.group_id for group in local.groups}
    others = [group for group in upstream.groups if group.group_id not in ours]
    return replace(upstream, groups=[*others, *local.groups])
