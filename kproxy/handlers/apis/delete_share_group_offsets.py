"""DeleteShareGroupOffsets (92), version 0, KIP-932.

Behaviour: the durable state of whole topics ends, and the group forgets them; when it subscribes again it begins where
`share.auto.offset.reset` says. The group must be empty. A deletion that was interrupted goes on by itself, and may be
asked for again.
Known differences from a stock broker: share-partitions whose initialization was interrupted lose their state, too.

Source: `GroupCoordinatorService.deleteShareGroupOffsets`; which topics have any: `GroupMetadataManager`.
"""

from collections.abc import Iterable, Mapping

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError
from kproxy.handlers.apis.share_offset_requests import NO_SUCH_PARTITION, ShareOffsetServices
from kproxy.handlers.authorization import TOPIC_DENIED
from kproxy.handlers.ports import TopicDescription
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation
from kproxy.share.identifiers import TopicId
from kproxy.share.share_group import ShareGroup
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from kproxy.wire.messages.delete_share_group_offsets_response import (
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

NOTHING_TO_DELETE = "There is no offset information to delete."
"""What Kafka says, and its tools show."""


def delete_share_group_offsets(services: ShareOffsetServices) -> ServedApi:
    """Return the entry of DeleteShareGroupOffsets in the registry."""
    handler = DeleteShareGroupOffsetsHandler(services)
    return ServedApi(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0, handler.serve, DeleteShareGroupOffsetsResponse)


class DeleteShareGroupOffsetsHandler:
    """Deletes the offsets of one group, topic by topic."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareOffsetServices) -> None:
        self._services = services

    async def serve(
        self, request: DeleteShareGroupOffsetsRequest, context: RequestContext
    ) -> DeleteShareGroupOffsetsResponse:
        """Answer when the offsets are gone durably: the topics that lost them first, then those that did not.

        Raises:
            GroupAuthorizationFailed: the sender may not delete the group.
            InvalidGroupId: the group id is empty.
            InvalidRequest: there are too many topics, or the group id is too long.
            NotCoordinator: another broker coordinates the group.
            CoordinatorLoadInProgress: the group is being restored, or initializes share-partitions of the topics.
            GroupIdNotFound: there is no such share group.
            NonEmptyGroup: the group has members.
            CoordinatorNotAvailable: the cluster cannot be asked, or what the group becomes is not durable.
        """
        self._services.bounds.require_few(len(request.topics))
        named = list(dict.fromkeys(topic.topic_name for topic in request.topics))
        await self._services.learn_rights(context, AclOperation.DELETE, request.group_id, named)
        self._services.authorization.require_group(context, AclOperation.DELETE, request.group_id)
        hidden = self._services.denied_topics(named, context)
        denied = denied_topics(name for name in named if name in hidden)
        report = RefusalReport(self._services.observer, context)
        if denied and len(denied) == len(named):  # of the group nothing is asked then
            _report(report, request.group_id, denied)
            return DeleteShareGroupOffsetsResponse(responses=denied)
        group_id = await self._services.require_group(request.group_id, context)
        names = [name for name in named if name not in hidden]
        topics = await self._services.topics_named(names)
        await self._services.require_settled(group_id)
        if self._services.coordinator.find(group_id) is None:
            raise (await self._services.coordinators.not_found((group_id,)))[group_id]
        group = self._services.coordinator.require_empty(group_id)
        refused = {name: why for name in names if (why := _why_refused(group, topics.get(name))) is not None}
        deletable = {topics[name].topic_id: name for name in names if name not in refused}
        failed = await self._delete(group, deletable)
        _report(report, group_id, (*denied, *refused_topics(refused), *failed))
        failed_names = {answer.topic_name for answer in failed}
        deleted = [
            DeleteShareGroupOffsetsResponseTopic(name, topic_id)
            for topic_id, name in deletable.items()
            if name not in failed_names
        ]
        return DeleteShareGroupOffsetsResponse(
            responses=[*denied, *deleted, *refused_topics(refused), *failed]
        )

    async def _delete(
        self, group: ShareGroup, topics: Mapping[TopicId, str]
    ) -> list[DeleteShareGroupOffsetsResponseTopic]:
        """Delete the state of `topics`; return those that failed."""
        if not topics:
            return []
        failures = await self._services.state_deletions.delete(group, tuple(topics))
        of_topics: dict[TopicId, ApiError] = {}
        for key, failure in failures.items():
            of_topics.setdefault(key.topic_id, failure)
        return [
            DeleteShareGroupOffsetsResponseTopic(topics[topic_id], topic_id, failure.error_code, str(failure))
            for topic_id, failure in of_topics.items()
        ]


def denied_topics(names: Iterable[str]) -> list[DeleteShareGroupOffsetsResponseTopic]:
    """Return what is answered about topics that the sender may not read."""
    return [
        DeleteShareGroupOffsetsResponseTopic(
            name, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=TOPIC_DENIED
        )
        for name in names
    ]


def refused_topics(refused: Mapping[str, str]) -> list[DeleteShareGroupOffsetsResponseTopic]:
    """Return what is answered about topics of which there is nothing to delete, by name with the reason."""
    return [
        DeleteShareGroupOffsetsResponseTopic(
            name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error_message=why
        )
        for name, why in refused.items()
    ]


def _report(
    report: RefusalReport, group_id: str, answers: Iterable[DeleteShareGroupOffsetsResponseTopic]
) -> None:
    for answer in answers:
        detail = f"{group_id!r}, {answer.topic_name!r}: {answer.error_message}"
        report.add(ErrorCode(answer.error_code), detail)
    report.tell()


def _why_refused(group: ShareGroup, topic: TopicDescription | None) -> str | None:
    """Return why nothing is deleted of a topic, None when there is something."""
    if topic is None:
        return NO_SUCH_PARTITION
    image = group.image()
    if topic.topic_id in image.initialized or topic.topic_id in image.deleting:
        return None
    return NOTHING_TO_DELETE
