"""A cluster with one topic, and the share coordinator behind it."""

from kproxy.handlers.apis.share_state_requests import ShareStateServices, share_partition_key
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import SharePartitionKey, TopicId
from kproxy.statelog.durable_state import DurableShareState
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.in_memory.in_memory_share_state_store import InMemoryShareStateStore
from tests.in_memory.recording_observer import RecordingObserver

GROUP = "orders"
TOPIC = TopicId(b"t" * 16)
UNKNOWN_TOPIC = TopicId(b"u" * 16)
CONTEXT = RequestContext(7, 1, 84, 0, "broker-2", "/127.0.0.1")


class ShareStateWorld:
    """`TOPIC` has two partitions. The state of partition 0 is initialized under state epoch 3 from offset 10 on."""

    def __init__(self, store: InMemoryShareStateStore | None = None) -> None:
        self.store = store or InMemoryShareStateStore()
        self.metadata = InMemoryClusterMetadata()
        self.metadata.create_topic("orders-in", TOPIC, partition_count=2)
        self.observer = RecordingObserver()
        self.changed: list[SharePartitionKey] = []
        """Whose state was about to be changed, in order."""
        self.services = ShareStateServices(
            self.store, self.metadata, self.observer, on_change=self.changed.append
        )

    async def begin(self) -> "ShareStateWorld":
        key = share_partition_key(GROUP, TOPIC, 0)
        await self.store.initialize_state(key, state_epoch=3, start_offset=10)
        return self

    def state_of(self, partition: int) -> DurableShareState | None:
        """What is durable of a partition of `TOPIC`."""
        return self.store.log.fold.states.get(share_partition_key(GROUP, TOPIC, partition))
