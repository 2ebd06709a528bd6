"""One request of each API that needs the state log, and what to look for in its answer."""

from collections.abc import Mapping
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import SharePartitionKey
from kproxy.wire.codecs import Message
from kproxy.wire.message_schema import MessagePart
from kproxy.wire.messages import (
    delete_share_group_state_request,
    initialize_share_group_state_request,
    read_share_group_state_request,
    read_share_group_state_summary_request,
    share_acknowledge_request,
    share_fetch_request,
    write_share_group_state_request,
)
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest

GROUP_RESOURCE: Final = 32
SHARE_VERSION: Final = 2
"""Of ShareFetch and ShareAcknowledge; later ones are of other versions of `share.version`."""
NOT_YET: Final = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
ACCEPT: Final = 1
MEMBER_ID: Final = "00000000-0000-0000-0000-000000000001"


def requests_about(key: SharePartitionKey, *, topic: str, max_wait_ms: int = 5_000) -> Mapping[str, Message]:
    """Return a request of each API by its name: about one group, and one partition of `topic`."""
    group = key.group_id
    return {
        "ShareGroupHeartbeat": ShareGroupHeartbeatRequest(group, MEMBER_ID, 0, None, [topic]),
        "ShareFetch": fetch(key, epoch=0, max_wait_ms=max_wait_ms),
        "ShareAcknowledge": acknowledgement(key, epoch=1),
        "IncrementalAlterConfigs": alter_config(group),
        "DescribeConfigs": describe_configs(group),
        **_to_the_share_coordinator(key),
    }


def fetch(
    key: SharePartitionKey, *, epoch: int, max_wait_ms: int, acknowledges: bool = False
) -> share_fetch_request.ShareFetchRequest:
    """Return a fetch of `key`; one that `acknowledges` accepts its first three records."""
    batches = [share_fetch_request.AcknowledgementBatch(0, 2, [ACCEPT])] if acknowledges else []
    fetched = share_fetch_request.FetchPartition(key.partition, acknowledgement_batches=batches)
    return share_fetch_request.ShareFetchRequest(
        key.group_id,
        MEMBER_ID,
        epoch,
        max_wait_ms=max_wait_ms,
        max_bytes=1000,
        max_records=500,
        topics=[share_fetch_request.FetchTopic(key.topic_id, [fetched])],
    )


def acknowledgement(
    key: SharePartitionKey, *, epoch: int
) -> share_acknowledge_request.ShareAcknowledgeRequest:
    """Return a request that accepts the first three records of `key`."""
    batch = share_acknowledge_request.AcknowledgementBatch(0, 2, [ACCEPT])
    acknowledged = share_acknowledge_request.AcknowledgePartition(key.partition, [batch])
    topics = [share_acknowledge_request.AcknowledgeTopic(key.topic_id, [acknowledged])]
    return share_acknowledge_request.ShareAcknowledgeRequest(key.group_id, MEMBER_ID, epoch, topics=topics)


def alter_config(group: str) -> IncrementalAlterConfigsRequest:
    """Return a request that sets one key of a group."""
    config = AlterableConfig("share.auto.offset.reset", 0, "earliest")
    return IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP_RESOURCE, group, [config])])


def describe_configs(group: str) -> DescribeConfigsRequest:
    """Return a request for all keys of a group."""
    return DescribeConfigsRequest([DescribeConfigsResource(GROUP_RESOURCE, group, None)])


def newest_version(request: Message) -> tuple[int, int]:
    """Return the API key of a request, and the version in which it is to be sent."""
    schema = request.SCHEMA
    assert schema.api_key is not None
    if isinstance(
        request, share_fetch_request.ShareFetchRequest | share_acknowledge_request.ShareAcknowledgeRequest
    ):
        return schema.api_key, SHARE_VERSION
    return schema.api_key, schema.valid_versions.last


def error_codes(part: MessagePart) -> set[int]:
    """Return every error code of an answer, but NONE."""
    codes = {getattr(part, "error_code", 0)}
    for field in part.SCHEMA.fields:
        if field.struct is not None and field.is_array:
            for each in getattr(part, field.name):
                codes |= error_codes(each)
    return codes - {ErrorCode.NONE}


def _to_the_share_coordinator(key: SharePartitionKey) -> Mapping[str, Message]:
    group, topic_id, partition = key.group_id, key.topic_id, key.partition
    initialized = initialize_share_group_state_request.PartitionData(partition, state_epoch=9)
    read = read_share_group_state_request.PartitionData(partition)
    written = write_share_group_state_request.PartitionData(partition)
    deleted = delete_share_group_state_request.PartitionData(partition)
    summary = read_share_group_state_summary_request.PartitionData(partition)
    return {
        "InitializeShareGroupState": initialize_share_group_state_request.InitializeShareGroupStateRequest(
            group, [initialize_share_group_state_request.InitializeStateData(topic_id, [initialized])]
        ),
        "ReadShareGroupState": read_share_group_state_request.ReadShareGroupStateRequest(
            group, [read_share_group_state_request.ReadStateData(topic_id, [read])]
        ),
        "WriteShareGroupState": write_share_group_state_request.WriteShareGroupStateRequest(
            group, [write_share_group_state_request.WriteStateData(topic_id, [written])]
        ),
        "DeleteShareGroupState": delete_share_group_state_request.DeleteShareGroupStateRequest(
            group, [delete_share_group_state_request.DeleteStateData(topic_id, [deleted])]
        ),
        "ReadShareGroupStateSummary": (
            read_share_group_state_summary_request.ReadShareGroupStateSummaryRequest(
                group, [read_share_group_state_summary_request.ReadStateSummaryData(topic_id, [summary])]
            )
        ),
    }
