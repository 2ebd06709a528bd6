"""Topics as a change of offsets needs them: their partitions, and the offsets of their logs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.clients.cluster.cluster_client import Broker, ClusterClient
from kproxy.clients.cluster.refusals import refusal_of, require_success
from kproxy.clients.failures import ClientFailed, NotThere
from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse
from kproxy.wire.messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic

LATEST: Final = -1
EARLIEST: Final = -2

_NO_REPLICA: Final = -1
_TIMEOUT_MS: Final = 15_000
"""How long a broker may take to ask remote storage."""


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """A partition of a topic, written as Kafka writes it: `orders-0`."""

    topic_name: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic_name}-{self.partition}"


def partitions_of(cluster: ClusterClient, topic_names: Iterable[str]) -> dict[str, list[Partition]]:
    """Return the partitions of each topic, ascending. Raises NotThere for one that there is not."""
    names = list(dict.fromkeys(topic_names))
    return cluster.persistently(
        lambda: {
            name: sorted(Partition(name, each.partition_index) for each in topic.partitions)
            for name, topic in _topics(cluster, names).items()
        }
    )


def require_partitions(cluster: ClusterClient, partitions: Iterable[Partition]) -> None:
    """Return if all of these are there. Raises NotThere, in the words of Kafka's tool (`GroupOffsetsResetter`)."""
    wanted = set(partitions)
    there = partitions_of(cluster, sorted({each.topic_name for each in wanted}))
    missing = wanted.difference(*there.values())
    if missing:
        raise NotThere(f'The partitions "{",".join(map(str, sorted(missing)))}" do not exist')


def offsets_of_logs(
    cluster: ClusterClient, partitions: Iterable[Partition], timestamp_ms: int
) -> dict[Partition, int | None]:
    """Return of each partition the first offset written at that time or later, None when there is none.

    Instead of a time in milliseconds since the epoch: EARLIEST, LATEST. Their leaders are asked, and waited for.
    """
    wanted = sorted(set(partitions))
    return cluster.persistently(lambda: _offsets(cluster, wanted, timestamp_ms)) if wanted else {}


def _topics(cluster: ClusterClient, names: Sequence[str]) -> Mapping[str, MetadataResponseTopic]:
    if not names:
        return {}
    found = {topic.name: topic for topic in cluster.look(names).topics}
    topics: dict[str, MetadataResponseTopic] = {}
    for name in names:
        asked = f"topic {name!r} cannot be found"
        if name not in found:
            raise ClientFailed(f"{asked}: the broker did not answer about it")
        require_success(found[name].error_code, asked)
        topics[name] = found[name]
    return topics


def _offsets(
    cluster: ClusterClient, partitions: Sequence[Partition], timestamp_ms: int
) -> dict[Partition, int | None]:
    names = list(dict.fromkeys(partition.topic_name for partition in partitions))
    topics = _topics(cluster, names)
    by_leader: dict[Broker, list[Partition]] = {}
    for partition in partitions:
        by_leader.setdefault(_leader(cluster, topics, partition), []).append(partition)
    offsets: dict[Partition, int | None] = {}
    for leader, of_leader in by_leader.items():
        request = _request(of_leader, timestamp_ms)
        offsets |= _found_offsets(cluster.ask(leader, request, ListOffsetsResponse))
    if offsets.keys() != set(partitions):
        raise ClientFailed("a broker did not answer about every partition whose offsets were asked for")
    return offsets


def _leader(
    cluster: ClusterClient, topics: Mapping[str, MetadataResponseTopic], partition: Partition
) -> Broker:
    described: dict[int, MetadataResponsePartition] = {
        each.partition_index: each for each in topics[partition.topic_name].partitions
    }
    if partition.partition not in described:
        raise NotThere(f'The partitions "{partition}" do not exist')
    leader = cluster.broker(described[partition.partition].leader_id)
    if leader is None:
        raise refusal_of(ErrorCode.LEADER_NOT_AVAILABLE, f'The partitions "{partition}" have no leader')
    return leader


def _request(partitions: Sequence[Partition], timestamp_ms: int) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for each in partitions:
        topic = topics.setdefault(each.topic_name, ListOffsetsTopic(each.topic_name))
        topic.partitions.append(ListOffsetsPartition(each.partition, timestamp=timestamp_ms))
    return ListOffsetsRequest(_NO_REPLICA, topics=list(topics.values()), timeout_ms=_TIMEOUT_MS)


def _found_offsets(answer: ListOffsetsResponse) -> dict[Partition, int | None]:
    found: dict[Partition, int | None] = {}
    for topic in answer.topics:
        for each in topic.partitions:
            partition = Partition(topic.name, each.partition_index)
            require_success(each.error_code, f"the offsets of {partition} cannot be listed")
            found[partition] = None if each.offset < 0 else each.offset
    return found
