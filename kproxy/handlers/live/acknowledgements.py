"""What became of delivered records: the part that ShareFetch and ShareAcknowledge have in common.

Changes take effect, and their writes are queued, in `apply`; `Applied.settle` waits until they are durable.
In between a ShareFetch reads records. Errors are per partition, and a partition is acknowledged as a whole
or not at all. Source: KIP-932, "Acknowledge"; `SharePartitionManager.acknowledge`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    NotCoordinator,
    SharePartitionElsewhere,
    SharePartitionNotLoaded,
    StateRefused,
)
from kproxy.handlers.authorization import ALL_READABLE, ReadableTopics
from kproxy.handlers.live.leadership import PartitionRefusal, unauthorized
from kproxy.handlers.live.pauses import Pace, let_others_go_on, work_on
from kproxy.handlers.live.releases import Released, Releases
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.handlers.live.write_actors import Client, acknowledged_by
from kproxy.handlers.ports import Observer
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from kproxy.share.acknowledgement import AcknowledgementBatch, validate_acknowledgement_batches
from kproxy.share.identifiers import SharePartitionKey, TopicId, TopicIdPartition
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.share_session import ShareSession, ShareSessionKey
from kproxy.share.state_batches import StateDelta

_FIRST_VERSION_WITH_RENEW: Final = 2

_CHECKS_OF_ONE: Final = 8
"""So many batches are checked in the time in which one takes effect."""

_ERRORS_OF_WRITES: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""What clients are told when a write failed; of all else UNKNOWN_SERVER_ERROR.

A stock broker passes NOT_COORDINATOR on as COORDINATOR_NOT_AVAILABLE, for its share coordinator may move while it
stays the leader; here both move together.
"""


@dataclass(frozen=True, slots=True)
class Acknowledger:
    """Who acknowledges, and whether the request says that it renews locks."""

    session_key: ShareSessionKey
    is_renew_ack: bool
    context: RequestContext
    readable: ReadableTopics = ALL_READABLE
    """The topics whose records it may acknowledge are those that it may read."""

    @property
    def client(self) -> Client:
        """How the member shows itself."""
        return Client(self.context.client_id, self.context.client_host)

    def key(self, partition: TopicIdPartition) -> SharePartitionKey:
        """Return the share-partition that is meant."""
        return partition.in_group(self.session_key.group_id)


class WirePartition(Protocol):
    """A partition of either request."""

    partition_index: int

    @property
    def acknowledgement_batches(self) -> Sequence[AcknowledgementBatch]:
        """What is said of its records."""
        ...


class WireTopic(Protocol):
    """A topic of either request."""

    topic_id: bytes

    @property
    def partitions(self) -> Sequence[WirePartition]:
        """Its partitions."""
        ...


Requested: TypeAlias = Mapping[TopicIdPartition, Sequence[AcknowledgementBatch]]
"""What a request says of each partition that it names."""


def requested_partitions(topics: Iterable[WireTopic]) -> Requested:
    """Return what a request says of each partition, in its order; most partitions of a ShareFetch say nothing.

    librdkafka names a topic more than once when its list is not sorted: what is said of a partition in
    several places is put together.
    """
    requested: dict[TopicIdPartition, list[AcknowledgementBatch]] = {}
    for topic in topics:
        topic_id = TopicId(topic.topic_id)
        for partition in topic.partitions:
            batches = requested.setdefault(TopicIdPartition(topic_id, partition.partition_index), [])
            batches.extend(partition.acknowledgement_batches)
    return requested


class Applied:
    """What a request changed in memory. `settle` must be called, whatever happens in between."""

    __slots__ = ("_acknowledger", "_observer", "_refusals", "_released", "_writes", "partitions")

    def __init__(
        self,
        acknowledger: Acknowledger,
        refusals: Mapping[TopicIdPartition, PartitionRefusal],
        *,
        partitions: Iterable[TopicIdPartition],
        writes: StateWrites,
        released: Released | None,
        observer: Observer,
    ) -> None:
        self.partitions = tuple(partitions)
        """What was acknowledged, refused or not, in the order of the request."""
        self._acknowledger = acknowledger
        self._refusals = dict(refusals)
        self._writes = writes
        self._released = released
        self._observer = observer

    async def settle(self) -> Mapping[TopicIdPartition, PartitionRefusal]:
        """Wait until what was accepted is durable; return the partitions that were refused."""
        failures = await self._failures()
        for partition in self.partitions:
            failure = failures.get(self._acknowledger.key(partition))
            if failure is not None:
                self._refusals[partition] = PartitionRefusal(_told_of(failure), str(failure))
        report = RefusalReport(self._observer, self._acknowledger.context)
        for partition, refusal in self._refusals.items():
            detail = f"acknowledgement of {self._acknowledger.key(partition)}: {refusal.message}"
            report.add(refusal.error_code, detail)
        report.tell()
        return self._refusals

    async def _failures(self) -> Mapping[SharePartitionKey, ApiError]:
        if self._released is None:
            return await self._writes.settle()
        try:
            await self._released.release()
            return await self._writes.settle()
        finally:
            self._writes.abandon()
            await self._released.settle()


class Acknowledgements:
    """Applies acknowledgements to the live share-partitions, on whichever port they arrive."""

    __slots__ = ("_releases", "_services")

    def __init__(self, services: ShareServices, releases: Releases) -> None:
        self._services = services
        self._releases = releases

    async def apply(
        self,
        acknowledger: Acknowledger,
        requested: Mapping[TopicIdPartition, Sequence[AcknowledgementBatch]],
        *,
        closing: ShareSession | None,
    ) -> Applied:
        """Let every partition of `requested` that passes its checks take effect, then close the session `closing`.

        What is held in that is taken back from then on, and has been when `Applied.settle` returns.
        A partition of which nothing is said is accepted without a look at it, and is not even answered when
        nothing is said of any (`KafkaApis.handleShareAcknowledgeRequest`). Others have a turn now and then in a request
        about very many partitions or records.
        """
        if not any(requested.values()):
            requested = {}
        refusals = await self._malformed(acknowledger, requested)
        sound = [partition for partition in requested if partition not in refusals]
        refusals.update(await self._unserved(acknowledger.readable, sound))
        writes = StateWrites(self._services.directory, self._services.state_log)
        pace = Pace()
        for partition in sound:
            if pace.is_pause_due(self._work_on(acknowledger.key(partition), requested[partition])):
                await _pause_between(writes)
            if partition in refusals or not requested[partition]:
                continue
            try:
                said = requested[partition]
                delta = self._acknowledge(acknowledger, partition, said)
                if not self._is_news(acknowledger.key(partition), delta):
                    continue
                actors = acknowledged_by(acknowledger.session_key.member_id, acknowledger.client, said, delta)
                writes.add(acknowledger.key(partition), delta, actors)
            except ApiError as refusal:
                refusals[partition] = PartitionRefusal(refusal.error_code, str(refusal))
        released = None if closing is None else self._releases.close(closing)
        return Applied(
            acknowledger,
            refusals,
            partitions=requested,
            writes=writes,
            released=released,
            observer=self._services.observer,
        )

    async def _unserved(
        self, readable: ReadableTopics, partitions: Sequence[TopicIdPartition]
    ) -> dict[TopicIdPartition, PartitionRefusal]:
        """Return which of `partitions` the sender may not read, then which the cluster does not have."""
        refused = unauthorized(readable, partitions)
        refused.update(
            await self._services.leadership.unknown_partitions(
                partition for partition in partitions if partition not in refused
            )
        )
        return unauthorized(readable, partitions, all_but=refused)

    def _work_on(self, key: SharePartitionKey, batches: Sequence[AcknowledgementBatch]) -> int:
        live = self._services.directory.find(key)
        return work_on(
            (0 if live is None else live.run_count) + sum(len(batch.acknowledge_types) for batch in batches)
        )

    def _is_news(self, key: SharePartitionKey, delta: StateDelta) -> bool:
        """Tell whether `delta` says what may not be durable: a mere start offset does while others are written."""
        return bool(delta.batches) or self._services.directory.has_unsettled_writes(key)

    async def _malformed(
        self,
        acknowledger: Acknowledger,
        requested: Mapping[TopicIdPartition, Sequence[AcknowledgementBatch]],
    ) -> dict[TopicIdPartition, PartitionRefusal]:
        knows_renew = acknowledger.context.api_version >= _FIRST_VERSION_WITH_RENEW
        highest_type = AcknowledgeType.RENEW if knows_renew else AcknowledgeType.REJECT
        refusals: dict[TopicIdPartition, PartitionRefusal] = {}
        pace = Pace()
        for partition, batches in requested.items():
            if pace.is_pause_due(work_on(len(batches) // _CHECKS_OF_ONE)):
                await let_others_go_on()
            try:
                validate_acknowledgement_batches(
                    batches, highest_type=highest_type, is_renew_ack=acknowledger.is_renew_ack
                )
            except ApiError as refusal:
                refusals[partition] = PartitionRefusal(refusal.error_code, str(refusal))
        return refusals

    def _acknowledge(
        self,
        acknowledger: Acknowledger,
        partition: TopicIdPartition,
        batches: Sequence[AcknowledgementBatch],
    ) -> StateDelta:
        key = acknowledger.key(partition)
        share_partition = self._services.directory.with_current_limits(key)
        if share_partition is None:
            self._require_ours(key)
            raise SharePartitionNotLoaded(f"nothing of {key} is in flight here")
        was_full, start_offset = not share_partition.can_acquire(), share_partition.start_offset
        try:
            delta = share_partition.acknowledge(
                acknowledger.session_key.member_id,
                batches,
                now_ms=self._services.clock.now_ms(),
                node_id=acknowledger.context.node_id,
                session_number=self._renewing_session(acknowledger),
            )
        finally:
            # Also of what was renewed before a refusal, maybe for a shorter time than it was held for.
            self._services.directory.note_deadline(key)
            has_room_again = was_full and share_partition.can_acquire()
            if has_room_again:
                self._hand_room_on(key)
        self._services.counters.acknowledged(key.group_id, batches, delta, start_offset=start_offset)
        has_returned = any(batch.state is RecordState.AVAILABLE for batch in delta.batches)
        if has_returned and not has_room_again:
            self._services.availability.signal(key)
        return delta

    def _renewing_session(self, acknowledger: Acknowledger) -> int:
        """Return the number of the session that holds what is renewed: the one that is open now, if any is.

        The session of the request may have ended while others had a turn. What it held that is not released yet
        goes on to be its own, under any number that is not higher.
        """
        session = self._services.sessions.get(acknowledger.session_key) if acknowledger.is_renew_ack else None
        return 0 if session is None else session.number

    def _hand_room_on(self, key: SharePartitionKey) -> None:
        first = self._services.turns.hand_on(key)
        if first is None:
            self._services.availability.signal(key)
        else:
            self._services.availability.call(first, key)

    def _require_ours(self, key: SharePartitionKey) -> None:
        try:
            self._services.group_log.require_ready(key.group_id)
        except NotCoordinator as moved:
            raise SharePartitionElsewhere(f"another process owns {key}: {moved}") from moved
        except CoordinatorLoadInProgress:
            return  # what was in flight before is not, any more


def _told_of(failure: ApiError) -> ErrorCode:
    """Return what clients are told of a write that failed, as a stock broker's persister tells its leader."""
    if isinstance(failure, StateRefused):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return _ERRORS_OF_WRITES.get(failure.error_code, ErrorCode.UNKNOWN_SERVER_ERROR)


async def _pause_between(writes: StateWrites) -> None:
    """Let others go on while `writes` are under way; if this is cut short, nobody waits for them."""
    try:
        await let_others_go_on()
    except BaseException:
        writes.abandon()
        raise
