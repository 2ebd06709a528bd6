"""What handlers may await: the only doors between the rules of share groups and the world.

`kproxy.net` implements these protocols, tests implement them in memory, and both run against the same
contract tests. Nothing here does I/O. Times are milliseconds: `Clock` is monotonic, `WallClock` counts from
the epoch and is for timestamps in records only.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.request_context import RequestContext
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, StateEpoch, TopicId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor
from kproxy.statelog.durable_state import DurableShareState
from kproxy.wire.messages.fetch_response import AbortedTransaction

LATEST_TIMESTAMP = -1
"""`PartitionReader.find_offset`: the high watermark (Kafka's ListOffsets constant)."""
EARLIEST_TIMESTAMP = -2
"""`PartitionReader.find_offset`: the log start offset (Kafka's ListOffsets constant)."""

OnRefused: TypeAlias = Callable[[ApiError], None]
"""Told of a write that was refused, or whose outcome is unknown, before anybody who waits for it."""

OnDurable: TypeAlias = Callable[[], None]
"""Told that a write is durable, before anybody who waits for it."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic of the backing cluster."""

    topic_id: TopicId
    name: str
    partition_count: int


@dataclass(frozen=True, slots=True)
class PartitionLeader:
    """Kafka's leader of a topic-partition. `leader_id` is -1 while there is none."""

    leader_id: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class BrokerEndpoint:
    """Where clients reach a virtual broker: kproxy's advertised address for that node id, never the broker's own."""

    node_id: int
    host: str
    port: int
    rack: str | None


class ClusterMetadata(Protocol):
    """The backing cluster's topics, leaders and brokers, as last seen."""

    async def topics_named(self, names: Collection[str]) -> Mapping[str, TopicDescription]:
        """Return those of `names` that exist; asks the cluster for one that is not cached. Raises BrokerUnavailable."""
        ...

    async def topics_with_ids(self, topic_ids: Collection[TopicId]) -> Mapping[TopicId, TopicDescription]:
        """Return those of `topic_ids` that exist (not deleted, nor recreated with another id).

        All that have to be asked for are asked for together. Raises BrokerUnavailable.
        """
        ...

    async def missing_topics(self, topics: Mapping[TopicId, str]) -> Collection[TopicId]:
        """Return those of `topics`, by id with their names, that the cluster says it does not have any more.

        Asks the cluster now. A topic is missing when its name is unknown or belongs to another id, and not when
        it may merely not be seen. Raises BrokerUnavailable.
        """
        ...

    def leader_of(self, topic_id: TopicId, partition: int) -> PartitionLeader | None:
        """Return the leader from the cache, None when topic or partition are unknown to it."""
        ...

    def advertised_endpoints(self) -> Collection[BrokerEndpoint]:
        """Return every virtual broker that clients may be sent to."""
        ...

    async def confirm(self, topic_ids: Collection[TopicId], *, not_older_than_ms: int) -> None:
        """Ask again for cached topics of which nothing was heard for so long; 0 asks. Raises BrokerUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionRead:
    """One topic-partition to read from `offset` (inclusive): `max_bytes` at most, but one batch of the first."""

    topic_id: TopicId
    partition: int
    offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Throttle:
    """A broker's quotas want no reads for `remaining_ms`: it `is_new`ly said so, or before, and was not asked."""

    remaining_ms: int
    is_new: bool


@dataclass(slots=True)
class PartitionData:
    """What a read found. `records` are record batches (format v2), untouched; empty when there is no whole one.

    The first batch may begin below the offset asked for; the last may be cut off where the byte limit fell, and only
    the first is known to be one of that format. `error_code` says why there are none, and then the
    offsets may be -1. OFFSET_OUT_OF_RANGE comes with `log_start_offset` filled. A read of committed records brings
    those of `aborted` transactions along. THROTTLING_QUOTA_EXCEEDED comes with `throttle`.
    """

    error_code: ErrorCode
    records: memoryview
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    aborted: Sequence[AbortedTransaction] = ()
    throttle: Throttle | None = None

    @property
    def readable_end(self) -> int:
        """The first offset that the read could not have brought: high watermark, or last stable offset."""
        is_committed = self.isolation is IsolationLevel.READ_COMMITTED
        return self.last_stable_offset if is_committed else self.high_watermark


OnEarly: TypeAlias = Callable[[Iterable[PartitionRead]], None]
"""Told that a read takes long, and which parts of it have come already; then of others that come."""


class PartitionReader(Protocol):
    """Plain reads of the backing log, from each partition's leader."""

    async def read(
        self,
        reads: Sequence[PartitionRead],
        *,
        max_bytes: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        on_early: OnEarly | None = None,
    ) -> Sequence[PartitionData]:
        """Read up to the high watermark, or the last stable offset, without waiting for new data.

        One result per read, in order.

        No partition is named twice. An error of one partition (leader moved, broker away, out of range) is
        that result's error code; nothing is raised. When it takes long, because of a leader or the search for one,
        `on_early` is told so, and which reads, each once, have their result already.
        """
        ...

    async def find_offset(self, topic_id: TopicId, partition: int, timestamp: int) -> int:
        """Return the offset for `timestamp` (or the constants above); the high watermark when no record is that young.

        Raises BrokerUnavailable when the leader cannot say.
        """
        ...


class Availability(Protocol):
    """Sleeping until there is something to acquire."""

    async def wait(
        self,
        interest: Mapping[SharePartitionKey, int | None],
        until_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Collection[SharePartitionKey]:
        """Return when a share-partition of `interest` may have records, or at `until_ms` (Clock).

        What is returned are those that may: at `until_ms` none. An empty `interest` waits for `until_ms`.

        The value is the first offset that a read found missing: the wait ends when the high watermark, or the last
        stable offset for who reads committed records, is known to be above it, at once if it already is. None
        waits for `signal` alone (a full in-flight window).

        A wide `Interest` stays registered when the wait is over, until its `end`: a later wait for it looks at nothing
        but what changed, and is over at once if there was a signal in between that is still `news`.
        """
        ...

    def signal(self, key: SharePartitionKey) -> None:
        """Wake who waits for `key`: a release, an expired lock, a moved start offset, an answered acknowledgement."""
        ...


class StateLog(Protocol):
    """Durable share-partition state (KIP-932's persister).

    The states of a group are there with the group: `GroupLog.require_ready` says so.
    """

    async def initialize(
        self, wanted: Iterable[PartitionInitialization], require_wanted: Callable[[], None] = lambda: None
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Create these states; return those that failed, maybe only in doubt.

        A state that has a start offset already stays as it is: the group that asks for it has lost its memory. Start
        offset -1 is chosen later by whoever loads the share-partition first. Very many are created in portions, and
        others go on in between; what takes too long fails. What `require_wanted` raises before a portion ends this.
        """
        ...

    async def load(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return the state under the next leader epoch, None when it was never initialized.

        The new epoch is durable: it fences whoever loaded before. A slot that is loading is waited for a
        bounded while.

        Raises:
            StateLogUnavailable: the log did not answer.
            CoordinatorLoadInProgress: the slot is still loading.
            NotCoordinator: another process took it over.
        """
        ...

    def persist(
        self,
        key: SharePartitionKey,
        delta: StateDelta,
        *,
        state_epoch: StateEpoch,
        leader_epoch: LeaderEpoch,
        actors: tuple[Actor, ...],
        on_refused: OnRefused | None = None,
    ) -> Awaitable[None]:
        """Queue `delta` at once; the awaitable is done when it is durable and replayed.

        The epochs are those that `load` returned. Each offset range of the delta is in one of `actors`. It is
        awaited once or, when the request is cut short, not at all; a cancelled wait leaves the write alone.
        The call raises nothing; the wait raises an ApiError when the write is refused or its outcome is unknown.
        `on_refused` is called with that error in the very turn in which it becomes known, maybe before the call
        returns: nothing more may be queued that rests on `delta`. It must not raise.
        """
        ...

    async def delete(self, keys: Collection[SharePartitionKey]) -> Mapping[SharePartitionKey, ApiError]:
        """Delete these states, if there are any; return those that failed, maybe only in doubt."""
        ...


class GroupLog(Protocol):
    """Durable share groups and their configurations.

    When a write fails the shell forgets the groups of that slot and restores them from what is durable; until
    then `require_ready` raises for them. The exception is a write that is certainly not in the log
    (UnwritableStateRecord, StateNotWritten): then `durable_image` says what the group is.
    """

    def require_ready(self, group_id: str) -> None:
        """Return if the slot of the group is owned and loaded, and with it the states of its share-partitions.

        Raises:
            CoordinatorLoadInProgress: it is being loaded.
            NotCoordinator: another process took it over.
        """
        ...

    def require_all_ready(self) -> None:
        """Return if every slot is loaded where it is owned, as far as is known. Raises CoordinatorLoadInProgress."""
        ...

    def durable_image(self, group_id: GroupId) -> ShareGroupImage | None:
        """Return the picture of a group that is durable, None when there is none. Raises as `require_ready` does."""
        ...

    def persist(self, image: ShareGroupImage, *, on_refused: OnRefused | None = None) -> Awaitable[None]:
        """Queue the picture of a group at once; the awaitable is done when it, or a later one, is durable.

        It is awaited once or not at all, and `on_refused` is called, as with `StateLog.persist`. The call raises
        nothing; the wait raises an ApiError when the outcome is not known to be good.
        """
        ...

    def remove(self, group_id: GroupId) -> Awaitable[None]:
        """Queue the end of a group at once, as `persist` does its picture. What it has configured stays."""
        ...

    def persist_configs(
        self,
        group_id: str,
        values: Mapping[str, str],
        *,
        on_durable: OnDurable | None = None,
        on_refused: OnRefused | None = None,
    ) -> Awaitable[None]:
        """Do the same for everything that a group has configured; nothing means that it configures nothing.

        `on_durable` is called in the turn in which they, or later values of the group, become durable, unless
        `on_refused` is: before anybody who waits goes on, and in the order of the calls. It must not raise. What was
        queued behind values that are refused is refused with them, before more can be queued.
        """
        ...


class Background(Protocol):
    """Work that goes on although nobody waits for it."""

    def begin(self, work: Callable[[], Awaitable[None]], *, name: str) -> None:
        """Begin `work`, which raises nothing, as soon as is reasonable. `name` is for people."""
        ...

    def begin_now(self, work: Callable[[], Awaitable[None]], *, name: str) -> None:
        """Do the same, however much of the other work is under way: for what others wait for, and is bounded."""
        ...


class Clock(Protocol):
    """Monotonic time."""

    def now_ms(self) -> int:
        """Return milliseconds since some fixed moment."""
        ...


class WallClock(Protocol):
    """Time of day."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        ...


class Observer(Protocol):
    """Where the rules report what happened: counters, distributions and one log line per refusal."""

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        """Add to a counter declared in `kproxy.telemetry.metrics` (its name there, without `kproxy_` and `_total`)."""
        ...

    def observe(self, histogram: str, value: float, *labels: str) -> None:
        """Add an observation to a declared histogram, named likewise."""
        ...

    def refused(self, context: RequestContext, *, reason: str, detail: str) -> None:
        """Count and log a request, or a part of one, that was answered with an error. `reason` is a fixed word."""
        ...


class Alarm(Protocol):
    """The one timer of the shell."""

    def ring_by(self, deadline_ms: int) -> None:
        """Make sure that expired locks and sessions are looked for no later than `deadline_ms` (Clock)."""
        ...
