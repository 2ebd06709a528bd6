"""What an operator does to share groups that are served here: records settled, share sessions ended.

It goes through the same share-partitions as acknowledgements do, under the same rule: all of what is asked is checked,
then all of it takes effect in one turn, and whoever asked hears of it when it is durable, or was taken back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from kproxy.errors import (
    ApiError,
    SharePartitionNotLoaded,
    ShareSessionNotFound,
    StateLogUnavailable,
    StateNotWritten,
    UnwritableStateRecord,
)
from kproxy.handlers.live.pauses import Pace, let_others_go_on, work_on
from kproxy.handlers.live.releases import Releases
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.handlers.live.write_actors import operated_by
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey
from kproxy.share.offset_ranges import InFlightRange
from kproxy.share.operators.settlement import OperatorAction, OperatorSettlement
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_session import ShareSession
from kproxy.wording import counted

_CERTAIN: Final = (StateNotWritten, UnwritableStateRecord)
"""After these nothing of it is in the state log."""


@dataclass(frozen=True, slots=True)
class SettledRun:
    """A run of records, offsets inclusive, before and after an action. Texts are empty where nobody holds it."""

    first_offset: int
    last_offset: int
    delivery_count: int
    state_before: RecordState
    state_after: RecordState
    member_id: str
    client_id: str


@dataclass(frozen=True, slots=True)
class SettledRuns:
    """The runs of a settlement, each made when it is due: there may be thousands.

    `client_ids` are those of the members that held some when it was planned.
    """

    settlement: OperatorSettlement
    client_ids: Mapping[MemberId, str]

    def __len__(self) -> int:
        return len(self.settlement.before)

    def __iter__(self) -> Iterator[SettledRun]:
        return map(self._run, self.settlement.before, self.settlement.after)

    def _run(self, before: InFlightRange, after: InFlightRange) -> SettledRun:
        member_id = None if before.lock is None else before.lock.member_id
        return SettledRun(
            before.first_offset,
            before.last_offset,
            before.delivery_count,
            before.state,
            after.state,
            member_id or "",
            "" if member_id is None else self.client_ids[member_id],
        )


class OperatorActions:
    """Plans and does it. `plan` and `sessions_of` change nothing."""

    __slots__ = ("_releases", "_services")

    def __init__(self, services: ShareServices, releases: Releases) -> None:
        self._services = services
        self._releases = releases

    def plan(
        self,
        key: SharePartitionKey,
        action: OperatorAction,
        spans: Sequence[tuple[int, int]],
        holder: MemberId | None = None,
    ) -> SettledRuns:
        """Return what would change; `holder`, if one is given, has to hold all of it.

        Raises:
            NotCoordinator, CoordinatorLoadInProgress: the group is not served here, or not yet.
            SharePartitionNotLoaded: nothing of the share-partition is in memory, so that nobody holds anything.
            InvalidRecordState, InvalidRequest: it cannot be done with one of the records; see `OperatorSettlement`.
        """
        return self._told(key, self._live(key).plan(action, spans, holder))

    async def settle(
        self,
        key: SharePartitionKey,
        action: OperatorAction,
        spans: Sequence[tuple[int, int]],
        holder: MemberId | None = None,
        *,
        reason: str,
    ) -> SettledRuns:
        """Do it, and return what has changed, durably. `reason` goes to the state log.

        All of it is one turn of the loop, which may be a long one: it has to wait for others with long work.

        Raises what `plan` raises, with nothing changed; StateNotWritten or UnwritableStateRecord when it was taken
        back, and StateLogUnavailable when it is in doubt.
        """
        await let_others_go_on()
        share_partition = self._live(key)
        settlement = share_partition.plan(action, spans, holder)
        told = self._told(key, settlement)
        client_of = partial(self._services.clients.of, key.group_id)
        actors = operated_by(settlement, client_of, reason, is_release=action is OperatorAction.RELEASE)
        delta = share_partition.settle(settlement)
        self._services.directory.note_deadline(key)
        self._services.counters.operated(key.group_id, delta, action)
        writes = StateWrites(self._services.directory, self._services.state_log)
        writes.add(key, delta, actors)
        self._services.availability.signal(key)
        try:
            refused = await writes.settle()
        finally:
            writes.abandon()
        if refused:
            self._services.availability.signal(key)  # what was to be archived may be available again
            is_there = self._services.directory.find(key) is share_partition
            raise _as_told(refused[key], settlement, share_partition if is_there else None)
        return told

    def sessions_of(
        self, group_id: GroupId, member_id: MemberId, node_id: int | None = None
    ) -> Sequence[ShareSession]:
        """Return the open share sessions of a member: that with one broker, or with all.

        Raises:
            NotCoordinator, CoordinatorLoadInProgress: the group is not served here, or not yet.
            ShareSessionNotFound: there is none.
        """
        self._services.group_log.require_ready(group_id)
        found = [
            session
            for session in self._services.sessions.sessions()
            if (session.key.group_id, session.key.member_id) == (group_id, member_id)
            and node_id in (None, session.key.node_id)
        ]
        if not found:
            where = "" if node_id is None else f" with broker {node_id}"
            raise ShareSessionNotFound(f"member {member_id!r} of {group_id!r} has no share session{where}")
        return sorted(found, key=lambda session: session.key)

    async def held_count(self, session: ShareSession) -> int:
        """Return how many records its member holds of the partitions of a session, in whichever of its sessions.

        Others have a turn now and then.
        """
        member_id, count, pace = session.key.member_id, 0, Pace(is_alone=True)
        for partition in tuple(session.partitions):
            window = self._services.directory.find(partition.in_group(session.key.group_id))
            runs = () if window is None else window.view().ranges
            count += sum(run.last_offset - run.first_offset + 1 for run in runs if run.member_id == member_id)
            if pace.is_pause_due(work_on(len(runs))):
                await let_others_go_on()
        return count

    async def end(self, sessions: Sequence[ShareSession], *, reason: str) -> None:
        """End sessions, one after the other, and take back what is held in them, durably.

        Their members open new ones with their next fetch, as after a connection that was lost. Raises
        StateLogUnavailable when all are ended, and not all that was held in them could be taken back.
        """
        refused: dict[SharePartitionKey, ApiError] = {}
        for session in sessions:
            refused |= await self._releases.close(session, operator=reason).settle()
        if refused:
            raise StateLogUnavailable(
                f"the share sessions are ended, and what was held of {counted(len(refused), 'share-partition')} could "
                f"not be taken back: {next(iter(refused.values()))}; look again: it is held until its locks end, or is "
                "delivered again"
            )

    def _live(self, key: SharePartitionKey) -> SharePartition:
        self._services.group_log.require_ready(key.group_id)
        share_partition = self._services.directory.with_current_limits(key)
        if share_partition is None:
            raise SharePartitionNotLoaded(
                f"nothing of {key} is in memory, for nobody fetches from it now, and only that can be settled: "
                "let a member of the group fetch first"
            )
        return share_partition

    def _told(self, key: SharePartitionKey, settlement: OperatorSettlement) -> SettledRuns:
        member_ids = {run.lock.member_id for run in settlement.before if run.lock is not None}
        client_of = self._services.clients.of
        client_ids = {member_id: client_of(key.group_id, member_id).client_id for member_id in member_ids}
        return SettledRuns(settlement, client_ids)


def _as_told(
    refusal: ApiError, settlement: OperatorSettlement, share_partition: SharePartition | None
) -> ApiError:
    """Return a refusal in the words of who asked once, and not of a member that asks again."""
    if not isinstance(refusal, _CERTAIN):
        return StateLogUnavailable(
            f"whether it was done is not known: {refusal}; look again before you repeat it"
        )
    changed = _changed_meanwhile(settlement, share_partition)
    if not changed:
        return type(refusal)(f"nothing was changed: {refusal}")
    return type(refusal)(f"it is not in the log: {refusal}; but {changed}: look again")


def _changed_meanwhile(settlement: OperatorSettlement, share_partition: SharePartition | None) -> str:
    """Tell what is not as it was before a settlement that was refused; empty when all of it is.

    What was released may have been acquired before the refusal came. None: it was discarded, or its slot was lost.
    """
    if share_partition is None:
        return (
            "all that was in flight of the partition is let go of, so that nobody holds any of it, and what is not "
            "done with is delivered again"
        )
    changed = settlement.first_changed(share_partition.view().ranges)
    if changed is None:
        return ""
    offset, run = changed
    if run is None:
        return f"by now offset {offset} is done with"
    holder = "" if run.member_id is None else f" by {str(run.member_id)!r}"
    return f"by now offset {offset} is {run.state.name.capitalize()}{holder}"
