"""Where share groups stand in the partitions that they consume: described, altered, deleted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.clients.cluster.cluster_client import ClusterClient
from kproxy.clients.cluster.refusals import TryAgain, only_result, refusal_of, require_success
from kproxy.clients.cluster.topics import Partition
from kproxy.clients.failures import ClientFailed
from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from kproxy.wire.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kproxy.wire.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

_UNSAID: Final = (int(ErrorCode.UNKNOWN_SERVER_ERROR), "the coordinator did not say what became of it")


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """A share-partition; None is not known, and so is all of one that has no start offset.

    `lag` is how many records are not done with (KIP-1226). `reason` says why something is not known, else it is empty.
    Source: `ListShareGroupOffsetsHandler`.
    """

    topic_id: str
    topic_name: str
    partition: int
    leader_epoch: int | None
    start_offset: int | None
    lag: int | None
    reason: str


def describe_offsets(cluster: ClusterClient, group_id: str) -> list[ShareOffset]:
    """Return the share-partitions of a group that have state, by topic and partition; none for an unknown group."""
    found = cluster.persistently(lambda: _described(cluster, group_id))
    return sorted(found, key=lambda offset: (offset.topic_name, offset.partition))


def alter_offsets(
    cluster: ClusterClient, group_id: str, offsets: Mapping[Partition, int]
) -> dict[Partition, ClientFailed | None]:
    """Let a group without members begin there; return what each came to, None if it does.

    A group that is not there is created. Raises ClientFailed when nothing could be done at all.
    """
    return cluster.persistently(lambda: _altered(cluster, group_id, offsets))


def delete_offsets(
    cluster: ClusterClient, group_id: str, topic_names: Sequence[str]
) -> dict[str, ClientFailed | None]:
    """Delete the offsets that a group without members has of these topics; return what each came to, None if deleted.

    Raises NotThere when there is no such share group, and ClientFailed when nothing could be done at all.
    """
    return cluster.persistently(lambda: _deleted(cluster, group_id, topic_names))


def _described(cluster: ClusterClient, group_id: str) -> list[ShareOffset]:
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group_id, None)])
    answer = cluster.ask_coordinator(group_id, request, DescribeShareGroupOffsetsResponse)
    asked = f"offsets of share group {group_id!r} cannot be described"
    group = only_result(answer.groups, asked)
    require_success(group.error_code, asked, group.error_message)
    return [_offset(topic, partition) for topic in group.topics for partition in topic.partitions]


def _offset(
    topic: DescribeShareGroupOffsetsResponseTopic, partition: DescribeShareGroupOffsetsResponsePartition
) -> ShareOffset:
    is_known = partition.error_code == ErrorCode.NONE and partition.start_offset >= 0
    return ShareOffset(
        topic_id=topic_id_text(TopicId(topic.topic_id)),
        topic_name=topic.topic_name,
        partition=partition.partition_index,
        leader_epoch=_known(partition.leader_epoch) if is_known else None,
        start_offset=partition.start_offset if is_known else None,
        lag=_known(partition.lag) if is_known else None,
        reason=_reason(partition),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _reason(partition: DescribeShareGroupOffsetsResponsePartition) -> str:
    if partition.error_code == ErrorCode.NONE:
        return ""
    return str(refusal_of(partition.error_code, "it cannot be described", partition.error_message))


def _altered(
    cluster: ClusterClient, group_id: str, offsets: Mapping[Partition, int]
) -> dict[Partition, ClientFailed | None]:
    topics: dict[str, AlterShareGroupOffsetsRequestTopic] = {}
    for partition, offset in offsets.items():
        topic = topics.setdefault(
            partition.topic_name, AlterShareGroupOffsetsRequestTopic(partition.topic_name)
        )
        topic.partitions.append(AlterShareGroupOffsetsRequestPartition(partition.partition, offset))
    request = AlterShareGroupOffsetsRequest(group_id, list(topics.values()))
    answer = cluster.ask_coordinator(group_id, request, AlterShareGroupOffsetsResponse, is_change=True)
    asked = f"offsets of share group {group_id!r} cannot be altered"
    require_success(answer.error_code, asked, answer.error_message)
    said = {
        Partition(responded.topic_name, each.partition_index): (each.error_code, each.error_message)
        for responded in answer.responses
        for each in responded.partitions
    }
    return {
        partition: _outcome(said.get(partition, _UNSAID), f"{partition} cannot be altered")
        for partition in offsets
    }


def _deleted(
    cluster: ClusterClient, group_id: str, topic_names: Iterable[str]
) -> dict[str, ClientFailed | None]:
    topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in topic_names]
    request = DeleteShareGroupOffsetsRequest(group_id, topics)
    answer = cluster.ask_coordinator(group_id, request, DeleteShareGroupOffsetsResponse, is_change=True)
    asked = f"offsets of share group {group_id!r} cannot be deleted"
    require_success(answer.error_code, asked, answer.error_message)
    said = {each.topic_name: (each.error_code, each.error_message) for each in answer.responses}
    return {
        topic.topic_name: _outcome(said.get(topic.topic_name, _UNSAID), "offsets cannot be deleted")
        for topic in topics
    }


def _outcome(said: tuple[int, str | None], asked: str) -> ClientFailed | None:
    error_code, message = said
    if error_code == ErrorCode.NONE:
        return None
    refusal = refusal_of(error_code, asked, message)
    return refusal.failure if isinstance(refusal, TryAgain) else refusal
