"""What changes without an acknowledgement: sessions close or lose their connection, locks end, logs lose records.

What a session held is taken back with pauses (`HeldRecords`), so is what logs lost; when locks end, all takes effect,
and every write is queued, before the first await. Sources: KIP-932, "Share sessions" and "Acquisition locks";
KAFKA-18925 (connections).
"""

from collections.abc import Iterable, Mapping
from functools import partial

from kproxy.errors import ApiError
from kproxy.handlers.live.held_records import HeldRecords, ReleasesUnderWay
from kproxy.handlers.live.log_starts import move_start
from kproxy.handlers.live.pauses import Pace, let_others_go_on, work_on
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.share_session_requests import is_open
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.handlers.live.write_actors import holders_due, timed_out
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition
from kproxy.share.share_session import ShareSession


class Releases:
    """Takes records back from members, and unloads the share-partitions of groups that nobody fetches for."""

    __slots__ = ("_services", "_under_way")

    def __init__(self, services: ShareServices) -> None:
        self._services = services
        self._under_way = ReleasesUnderWay()

    @property
    def is_releasing(self) -> bool:
        """Whether something of sessions that are over is still to be taken back."""
        return self._under_way.count > 0

    def close(self, session: ShareSession, *, operator: str = "") -> "Released":
        """Close `session` and take back what its member acquired in it of its partitions, and of those only.

        Nothing when it was evicted or replaced meanwhile: then the records were taken back, or are its
        successor's. `operator` is the reason of one who ends it.
        """
        if not is_open(self._services.sessions, session):
            return self._release(())
        self._services.sessions.close(session)
        return self._release((session,), operator)

    def evict_connection(self, connection_id: int) -> "Released":
        """Do the same for all sessions that are bound to a connection that went away."""
        sessions = self._services.sessions.evict_connection(connection_id)
        self._services.counters.sessions_evicted(sessions)
        return self._release(sessions)

    def expire_locks(self, now_ms: int) -> "Released":
        """Take back records whose lock ended by `now_ms`, of as many share-partitions as there is time for at once."""
        writes = StateWrites(self._services.directory, self._services.state_log)
        pace, is_pause_due = Pace(is_alone=True), False
        while not is_pause_due and (due := self._services.directory.take_due(now_ms)):
            is_pause_due = pace.is_pause_due(self._expire_locks_of(due, now_ms, writes))
        return Released(self._services.directory, writes)

    def _expire_locks_of(self, key: SharePartitionKey, now_ms: int, writes: StateWrites) -> int:
        """Take back the records of one share-partition; return how much work that was."""
        share_partition = self._services.directory.with_current_limits(key)
        if share_partition is None:  # its topic or slot is gone, and it is about to be discarded
            return work_on(0)
        work = work_on(share_partition.run_count)
        holders = holders_due(share_partition.view(), now_ms)
        delta = share_partition.expire_locks(now_ms)
        self._services.directory.note_deadline(key)
        if not delta.is_empty:
            self._services.counters.locks_expired(key.group_id, delta)
            client_of = partial(self._services.clients.of, key.group_id)
            writes.add(key, delta, timed_out(holders, delta, client_of))
            self._services.availability.signal(key)
        return work

    async def move_log_starts(self, log_starts: Mapping[TopicIdPartition, int]) -> None:
        """Give up what lies below `log_starts` in every live share-partition of these topic-partitions.

        Others have a turn now and then. Returns when all of it is durable, or discarded.
        """
        writes = StateWrites(self._services.directory, self._services.state_log)
        topic_ids = {partition.topic_id for partition in log_starts}
        live_keys = self._services.directory.keys()
        pace = Pace()
        try:
            for key in [key for key in live_keys if key.topic_id in topic_ids]:
                if pace.is_pause_due(self._move_log_start(key, log_starts, writes)):
                    await let_others_go_on()
            await writes.settle()
        finally:
            writes.abandon()

    def _move_log_start(
        self, key: SharePartitionKey, log_starts: Mapping[TopicIdPartition, int], writes: StateWrites
    ) -> int:
        """Give up what one share-partition has lost; return how much work that was."""
        log_start_offset = log_starts.get(TopicIdPartition(key.topic_id, key.partition))
        share_partition = self._services.directory.find(key)
        if share_partition is None or log_start_offset is None:
            return 1
        work = work_on(share_partition.run_count)
        if move_start(self._services, writes, share_partition, log_start_offset):
            self._services.availability.signal(key)
        return work

    def _release(self, sessions: Iterable[ShareSession], operator: str = "") -> "Released":
        writes = StateWrites(self._services.directory, self._services.state_log)
        return Released(
            self._services.directory, writes, HeldRecords(self._services, sessions, self._under_way, operator)
        )


class Released:
    """Records taken back in memory, or being so. `settle` must be called, whatever happens in between."""

    __slots__ = ("_directory", "_group_ids", "_held", "_writes")

    def __init__(
        self, directory: SharePartitionDirectory, writes: StateWrites, held: HeldRecords | None = None
    ) -> None:
        self._directory = directory
        self._writes = writes
        self._held = held
        self._group_ids = () if held is None else held.group_ids

    async def release(self) -> None:
        """Take back what is left of it, with pauses when it is very much. Need not be called before `settle`."""
        held, self._held = self._held, None
        if held is not None:
            await held.release(self._writes)

    async def settle(self) -> Mapping[SharePartitionKey, ApiError]:
        """Take back what is left, wait until all is durable or refused, and unload what nobody fetches any more.

        Returns the refusals; see `StateWrites` for what becomes of the records then.
        """
        try:
            await self.release()
            return await self._writes.settle()
        finally:
            self._writes.abandon()
            await self._directory.unload_unwanted(self._group_ids)
