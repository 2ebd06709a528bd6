"""What a member of group `g` sends about the topic `orders`, as bytes, and what it holds of it."""

from kproxy.wire import codecs
from kproxy.wire.messages.share_acknowledge_request import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld


def fetch_of_orders(correlation_id: int, epoch: int, *, max_wait_ms: int) -> bytes:
    """Return a ShareFetch of member `m` of group `g`; it opens the session when `epoch` is 0."""
    topics = [] if epoch else [FetchTopic(ORDERS, [FetchPartition(0)])]
    message = ShareFetchRequest(
        group_id="g",
        member_id="m",
        share_session_epoch=epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        max_records=500,
        batch_size=500,
        topics=topics,
    )
    return b"".join(codecs.encode_request(78, 2, correlation_id, "client", message))


def acceptance(correlation_id: int, epoch: int, last_offset: int) -> bytes:
    """Return its ShareAcknowledge that accepts everything up to `last_offset`, which it includes."""
    partition = AcknowledgePartition(0, [AcknowledgementBatch(0, last_offset, [1])])
    message = ShareAcknowledgeRequest(
        group_id="g",
        member_id="m",
        share_session_epoch=epoch,
        topics=[AcknowledgeTopic(ORDERS, [partition])],
    )
    return b"".join(codecs.encode_request(79, 2, correlation_id, "client", message))


def acquired_count(world: ShareGroupWorld) -> int:
    """Return how many records of the partition are locked."""
    share_partition = world.groups.directory.find(world.key())
    return 0 if share_partition is None else share_partition.in_flight_count - share_partition.available_count
