"""DeleteGroups (42) for share groups, versions 0-3, KIP-229 and KIP-932.

Behaviour: answers for the groups named that are share groups, and for those that may be because their slot is not
loaded; the rest is the backing cluster's (`rewrites.share_group_answers`), but for the group of kproxy's own fleet,
which nobody may delete. A group with members is not deleted; one
without goes with the states of its share-partitions, and then its id is free. A group named twice is answered once.
A request that names more groups than `AdministrationBounds` allow is refused, and the backing cluster is not asked.
Version notes: 1 and 2 have the same fields, 3 adds a message to each error.
"""

from collections.abc import Iterable

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, GroupAuthorizationFailed
from kproxy.handlers.administration_bounds import AdministrationBounds, count_of_names, told_why
from kproxy.handlers.authorization import GROUP_DENIED, Authorization
from kproxy.handlers.groups.group_coordinators import GroupCoordinators, not_coordinator
from kproxy.handlers.groups.group_deletions import GroupDeletions
from kproxy.handlers.groups.hashed_group_ids import hash_in_turns
from kproxy.handlers.ports import GroupLog, Observer
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse


class DeleteGroupsHandler:
    """Serves the part of DeleteGroups that is about share groups."""

    __slots__ = (
        "_authorization",
        "_bounds",
        "_coordinator",
        "_coordinators",
        "_deletions",
        "_group_log",
        "_observer",
    )

    def __init__(  # noqa: PLR0913 - keyword-only collaborators, named once in the table of APIs
        self,
        coordinator: GroupCoordinator,
        deletions: GroupDeletions,
        *,
        coordinators: GroupCoordinators,
        group_log: GroupLog,
        observer: Observer,
        bounds: AdministrationBounds,
        authorization: Authorization,
    ) -> None:
        self._authorization = authorization
        self._bounds = bounds
        self._coordinator = coordinator
        self._deletions = deletions
        self._coordinators = coordinators
        self._group_log = group_log
        self._observer = observer

    async def serve(self, request: DeleteGroupsRequest, context: RequestContext) -> DeleteGroupsResponse:
        """Answer one result per share group, when it is durably gone; none for a group that is none.

        Raises InvalidRequest when too many are named.
        """
        self._bounds.require_few(count_of_names(request.groups_names))
        await hash_in_turns(request.groups_names)
        await self._authorization.learn(
            context, AclOperation.DELETE, ResourceType.GROUP, lambda: self._answered(request.groups_names)
        )
        known: list[GroupId] = []
        refusals: dict[str, ApiError] = {}
        for name in dict.fromkeys(request.groups_names):
            is_known = GroupId(name) in self._coordinator.known_ids
            unreadiness = None if is_known else self._unreadiness(name)
            if not is_known and unreadiness is None and not self._authorization.is_closed_group(name):
                continue
            if not self._authorization.allows_group(context, AclOperation.DELETE, name):
                refusals[name] = GroupAuthorizationFailed(GROUP_DENIED)
            elif unreadiness is not None:
                refusals[name] = unreadiness
            else:
                known.append(GroupId(name))
        elsewhere = await self._coordinators.elsewhere(known, context.node_id)
        refusals.update((name, not_coordinator(name, node_id)) for name, node_id in elsewhere.items())
        ours = [name for name in known if name not in elsewhere]
        refusals.update((await self._deletions.delete(ours)).items())
        return DeleteGroupsResponse(results=self._results((*known, *refusals), refusals, context))

    def _answered(self, names: Iterable[str]) -> Iterable[str]:
        """Yield those that are answered here."""
        for name in names:
            if GroupId(name) in self._coordinator.known_ids or self._unreadiness(name) is not None:
                yield name

    def _unreadiness(self, name: str) -> ApiError | None:
        """Return why nobody knows whether it is a share group; None when that is known."""
        try:
            self._group_log.require_ready(name)
        except ApiError as unreadiness:
            return unreadiness
        return None

    def _results(
        self, names: tuple[str, ...], refusals: dict[str, ApiError], context: RequestContext
    ) -> list[DeletableGroupResult]:
        report = RefusalReport(self._observer, context)
        results: list[DeletableGroupResult] = []
        for name in dict.fromkeys(names):
            refusal = refusals.get(name)
            if refusal is None:
                results.append(DeletableGroupResult(name))
                continue
            report.add(refusal.error_code, f"deletion of group {name!r}: {refusal}")
            results.append(DeletableGroupResult(name, refusal.error_code, str(refusal)))
        report.tell()
        return results


def refuse_deletions(
    request: DeleteGroupsRequest, error_code: ErrorCode, error_message: str | None
) -> DeleteGroupsResponse:
    """Say no to every group of `request`; of those that are the backing cluster's, that answers."""
    names = dict.fromkeys(request.groups_names)
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(name, error_code, text)
            for name, text in zip(names, told_why(error_message), strict=False)
        ]
    )
