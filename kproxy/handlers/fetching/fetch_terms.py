"""What one ShareFetch asks for, and what it is told of each partition."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kproxy.handlers.authorization import ALL_READABLE, ReadableTopics
from kproxy.handlers.fetching.fetch_starts import FetchEnds, FetchStarts, batch_looks
from kproxy.handlers.live.leadership import PartitionRefusal
from kproxy.handlers.live.pauses import SharedStart
from kproxy.handlers.ports import PartitionRead
from kproxy.handlers.request_context import RequestContext
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_session import ShareSessionKey


@dataclass(frozen=True, slots=True)
class FetchTerms:
    """The demands of a ShareFetch. `partitions` are in turn: the first one has the first call on the budget.

    `deadline_ms` is on the Clock. `is_session_open` is asked after every wait.
    """

    session_key: ShareSessionKey
    partitions: Sequence[TopicIdPartition]
    session_number: int
    deadline_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    is_record_limit: bool
    is_session_open: Callable[[], bool]
    context: RequestContext
    readable: ReadableTopics = ALL_READABLE
    """What the sender may read, which is asked again before anything is delivered."""
    looks: FetchStarts = field(default_factory=FetchStarts)
    """Says when the fetch may look again, if that is at very much."""
    ends: FetchEnds = field(default_factory=FetchEnds)
    """Says when the fetch may end, if that takes long."""
    batch_looks: SharedStart = field(default_factory=batch_looks)
    """What it has in common with others whose reads brought many batches, too."""
    _keys: Mapping[TopicIdPartition, SharePartitionKey] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        group_id = self.session_key.group_id
        keys = {partition: partition.in_group(group_id) for partition in self.partitions}
        object.__setattr__(self, "_keys", keys)

    @property
    def node_id(self) -> int:
        """The virtual broker whose port the request came to."""
        return self.context.node_id

    @property
    def wants_nothing(self) -> bool:
        """The request only maintains its session (Java sends such in record-limit mode), or nobody hears the answer."""
        return self.max_records <= 0 or self.max_bytes <= 0 or self.context.caller.is_gone

    def key(self, partition: TopicIdPartition) -> SharePartitionKey:
        """Return the share-partition that is meant by one of `partitions`."""
        return self._keys[partition]

    def key_of(self, read: PartitionRead) -> SharePartitionKey:
        """Return the share-partition that a read is for, of one of `partitions`."""
        return self._keys[TopicIdPartition(read.topic_id, read.partition)]


@dataclass(slots=True)
class FetchedPartition:
    """What the answer says of one partition: `records` are whole batches, `acquired` the offsets that count."""

    refusal: PartitionRefusal | None = None
    records: bytes | memoryview = b""
    acquired: Sequence[AcquiredRange] = ()
    acquired_from: SharePartition | None = None
    """The share-partition of `acquired`, as it was then; to be compared only."""
    locked_until_ms: int = 0
    """When the lock of `acquired` ends, on the Clock, exclusive."""
