"""What was acquired in share sessions that are over, taken back with pauses."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kproxy.handlers.live.pauses import Pace, SharedStart, let_others_go_on, work_on
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.handlers.live.write_actors import Client, released_by
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_session import ShareSession


class ReleasesUnderWay:
    """How many of `HeldRecords` are being taken back at this moment, and what they begin with together."""

    __slots__ = ("count", "start")

    def __init__(self) -> None:
        self.count = 0
        self.start = SharedStart()


class _Holder(NamedTuple):
    session: ShareSession
    client: Client


class HeldRecords:
    """What was acquired in sessions that have just ended, of the partitions that each of them had.

    `release` must be called, once. Until it is over the sessions count for their groups, so that nothing of these is
    unloaded. Sessions of the same members that are opened meanwhile keep what they acquire.
    """

    __slots__ = ("_holders", "_operator", "_services", "_under_way")

    def __init__(
        self,
        services: ShareServices,
        sessions: Iterable[ShareSession],
        under_way: ReleasesUnderWay,
        operator: str = "",
    ) -> None:
        """Begin to; `operator` is the reason of one who ended the sessions."""
        self._operator = operator
        self._services = services
        self._under_way = under_way
        self._holders: Sequence[_Holder] = [
            _Holder(session, services.clients.of(session.key.group_id, session.key.member_id))
            for session in sessions
        ]
        for session, _ in self._holders:
            services.sessions.begin_release(session)
            services.availability.end_session(session.key)

    @property
    def group_ids(self) -> Sequence[GroupId]:
        """The groups of the sessions, each once."""
        return tuple({session.key.group_id: None for session, _ in self._holders})

    async def release(self, writes: StateWrites) -> None:
        """Make all of it available again, and queue that in `writes`. The first of it happens before this waits.

        When this is cut short, what is left is discarded: nobody would take it back before its locks end.
        """
        left = self._share_partitions()
        self._under_way.count += 1
        pace = Pace(start=self._under_way.start)
        try:
            while self._release_some(left, writes, pace):
                await let_others_go_on()
        finally:
            self._under_way.count -= 1
            for _, key in left:
                self._services.directory.discard(key)
            for session, _ in self._holders:
                self._services.sessions.end_release(session)

    def _share_partitions(self) -> Iterator[tuple[_Holder, SharePartitionKey]]:
        for holder in self._holders:
            for partition in holder.session.partitions:
                yield holder, partition.in_group(holder.session.key.group_id)

    def _release_some(
        self, left: Iterator[tuple[_Holder, SharePartitionKey]], writes: StateWrites, pace: Pace
    ) -> bool:
        """Take back as much as there is time for; tell whether something may be left."""
        return any(pace.is_pause_due(self._release_one(holder, key, writes)) for holder, key in left)

    def _release_one(self, holder: _Holder, key: SharePartitionKey, writes: StateWrites) -> int:
        """Take back what is held of one share-partition; return how much work that was."""
        share_partition = self._services.directory.with_current_limits(key)
        if share_partition is None:
            return work_on(0)
        work = work_on(share_partition.run_count)
        session = holder.session
        delta = share_partition.release(
            session.key.member_id, node_id=session.key.node_id, session_number=session.number
        )
        if not delta.is_empty:
            self._services.counters.released(key.group_id, delta)
            actors = released_by(session.key.member_id, holder.client, delta, operator=self._operator)
            writes.add(key, delta, actors)
            self._services.availability.signal(key)
        return work
