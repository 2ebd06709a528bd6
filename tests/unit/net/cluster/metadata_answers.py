"""What brokers say of a cluster, and the view that is made of it."""

from collections.abc import Sequence

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster.view import ClusterView
from kproxy.share.identifiers import TopicId
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def topic(
    name: str, topic_id: TopicId, *leaders: tuple[int, int], offline: Sequence[int] = ()
) -> MetadataResponseTopic:
    """A topic whose partitions have these leaders and leader epochs, and replicas on these brokers that are offline."""
    partitions = [
        MetadataResponsePartition(
            partition_index=partition,
            leader_id=leader_id,
            leader_epoch=leader_epoch,
            offline_replicas=list(offline),
        )
        for partition, (leader_id, leader_epoch) in enumerate(leaders)
    ]
    return MetadataResponseTopic(name=name, topic_id=topic_id, partitions=partitions)


def missing(name: str, error_code: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> MetadataResponseTopic:
    return MetadataResponseTopic(name=name, error_code=error_code)


def response(*topics: MetadataResponseTopic, node_ids: tuple[int, ...] = (1,)) -> MetadataResponse:
    brokers = [
        MetadataResponseBroker(node_id=node_id, host="kafka", port=9092, rack="r") for node_id in node_ids
    ]
    return MetadataResponse(brokers=brokers, cluster_id="c", topics=list(topics))


def view_of(*topics: MetadataResponseTopic) -> ClusterView:
    view = ClusterView(unknown_ttl_ms=1000)
    view.absorb(response(*topics), asked_names=[each.name for each in topics if each.name], now_ms=0)
    return view
