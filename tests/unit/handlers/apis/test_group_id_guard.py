"""Requests that would make a share group a group of another type: each is refused in its own words."""

from dataclasses import replace
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.apis.group_id_guard import guarded_apis
from kproxy.handlers.groups.group_coordinators import OFFSETS_TOPIC, GroupCoordinators
from kproxy.handlers.registry import ServedApis
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.wire import group_ids
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kproxy.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kproxy.wire.messages.streams_group_heartbeat_request import StreamsGroupHeartbeatRequest
from kproxy.wire.messages.streams_group_heartbeat_response import StreamsGroupHeartbeatResponse
from kproxy.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kproxy.wire.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.in_memory.recording_observer import RecordingObserver
from tests.in_memory.scripted_authorizer import EVERYBODY_MAY
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace
from tests.worlds.group_coordinators import OFFSETS

GROUP = "orders"
TOPIC_ID = b"0123456789abcdef"
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
ANYWHERE = GroupCoordinators(InMemoryClusterMetadata(), UncheckedGroupNamespace())
"""Nobody knows who coordinates a group."""

REFUSED: list[Any] = [
    (
        ApiKey.JOIN_GROUP,
        JoinGroupRequest(group_id=GROUP, member_id="me"),
        JoinGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    (
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="me"),
        ConsumerGroupHeartbeatResponse(
            error_code=NOT_FOUND, error_message="Group orders is not a consumer group."
        ),
    ),
    (
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        StreamsGroupHeartbeatRequest(group_id=GROUP, member_id="me"),
        StreamsGroupHeartbeatResponse(
            error_code=NOT_FOUND, error_message="Group orders is not a streams group.", status=[]
        ),
    ),
    (
        ApiKey.OFFSET_COMMIT,
        OffsetCommitRequest(
            group_id=GROUP,
            topics=[
                OffsetCommitRequestTopic(
                    name="t",
                    partitions=[OffsetCommitRequestPartition(4), OffsetCommitRequestPartition(2)],
                ),
                OffsetCommitRequestTopic(topic_id=TOPIC_ID, partitions=[]),
            ],
        ),
        OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    name="t",
                    partitions=[
                        OffsetCommitResponsePartition(4, NOT_FOUND),
                        OffsetCommitResponsePartition(2, NOT_FOUND),
                    ],
                ),
                OffsetCommitResponseTopic(topic_id=TOPIC_ID, partitions=[]),
            ]
        ),
    ),
    (
        ApiKey.TXN_OFFSET_COMMIT,
        TxnOffsetCommitRequest(
            group_id=GROUP,
            topics=[TxnOffsetCommitRequestTopic("t", [TxnOffsetCommitRequestPartition(4)])],
        ),
        TxnOffsetCommitResponse(
            topics=[TxnOffsetCommitResponseTopic("t", [TxnOffsetCommitResponsePartition(4, NOT_FOUND)])]
        ),
    ),
]


@pytest.mark.parametrize(("api_key", "request_message", "refusal"), REFUSED)
async def test_each_request_is_refused_as_a_stock_broker_does_and_counted(
    api_key: int, request_message: Message, refusal: Message
) -> None:
    # Given
    observer = RecordingObserver()
    apis = served(observer)

    # When
    answer = await apis.serve(DecodedRequest(api_key, 2, 7, "client", request_message), context(api_key))

    # Then
    assert answer == refusal
    assert observer.reasons in (["group_id_not_found"], ["inconsistent_group_protocol"])


def test_what_is_guarded_can_be_told_decoded_and_refused() -> None:
    # Given
    table = RoutingTable({ApiKey.SHARE_GROUP_HEARTBEAT: (1, 1)}).rows()

    # When
    guarded = {route for route, disposition in table.items() if disposition is Disposition.GUARD}

    # Then
    refused = {
        (api.api_key, version)
        for api in guarded_apis(ANYWHERE, EVERYBODY_MAY)
        for version in range(api.min_version, api.max_version + 1)
    }
    assert guarded == refused
    assert {api_key for api_key, _ in guarded} <= group_ids.API_KEYS
    assert all(version in REQUEST_CLASSES[key].SCHEMA.valid_versions for key, version in guarded)


async def test_on_the_port_of_another_broker_each_is_told_to_look_for_the_coordinator() -> None:
    # Given
    metadata, namespace = InMemoryClusterMetadata((1, 2)), UncheckedGroupNamespace()
    metadata.create_topic(OFFSETS_TOPIC, OFFSETS)
    namespace.coordinator_id = 1
    observer = RecordingObserver()
    apis = served(observer, GroupCoordinators(metadata, namespace))

    # When
    for api_key, request_message, _ in REFUSED:
        request = DecodedRequest(api_key, 2, 7, "client", request_message)
        await apis.serve(request, replace(context(api_key), node_id=2))

    # Then
    assert observer.reasons == ["not_coordinator"] * len(REFUSED)


def served(observer: RecordingObserver, coordinators: GroupCoordinators | None = None) -> ServedApis:
    """Share groups are unavailable for the moment: their ids stay theirs."""

    def fault(_context: RequestContext, error: Exception) -> None:
        raise error

    async def closed(_connection_id: int) -> None:
        return None

    apis = ServedApis(
        [],
        guarded_apis(coordinators or ANYWHERE, EVERYBODY_MAY),
        observer=observer,
        on_internal_error=fault,
        on_connection_closed=closed,
    )
    apis.set_unavailable("the log is being loaded")
    return apis


def context(api_key: int) -> RequestContext:
    return RequestContext(7, 1, api_key, 2, "client", "/127.0.0.1")
