"""Share groups that are deleted: their durable state first, then what says that they exist.

1. A group without members says durably that it is being deleted. From now on nobody joins it. Whatever is live of it,
share sessions too, is let go of. 2. The states of its share-partitions are deleted. 3. Its records are removed, and the
group is forgotten: its id is free, for a group of any type. What is interrupted before step 1 is durable leaves the
group as it was; what is interrupted later is found in the group, and goes on from step 2, or from 1 where not all of
what it says was durable.

What a group has configured stays. Source: `GroupCoordinatorService.deleteGroups`, `GroupMetadataManager`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kproxy.errors import ApiError, CoordinatorLoadInProgress, CoordinatorNotAvailable
from kproxy.handlers.groups.group_writes import GroupWrite, GroupWrites
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.live.share_services import ShareServices
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import StateTopics
from kproxy.share.share_session import ShareSession

_GROUPS_AT_ONCE: Final = 100
"""So many at most go through the rounds of writes together, and begin in one turn."""

_SHARE_PARTITIONS_AT_ONCE: Final = 5_000
"""So many at most the groups of a round have together, unless it is one group, and so many deletions are queued in one
turn, which takes some 20 ms."""


@dataclass(slots=True, eq=False)
class _Deletion:
    """One group on its way out, and why it goes no further."""

    group: ShareGroup
    states: StateTopics
    """What is deleted first. There may be a hundred thousand share-partitions."""
    write: GroupWrite
    refusal: ApiError | None = None
    is_over: bool = False
    """Whether nothing is left to do, because of the refusal or because others did it."""

    @property
    def group_id(self) -> GroupId:
        return self.group.group_id

    @property
    def keys(self) -> Iterator[SharePartitionKey]:
        for topic_id, topic in self.states.items():
            for number in topic.partitions:
                yield SharePartitionKey(self.group_id, topic_id, number)


class GroupDeletions:
    """Deletes share groups, some of them in three rounds of writes, then the next ones."""

    __slots__ = ("_coordinator", "_services", "_writes")

    def __init__(self, coordinator: GroupCoordinator, writes: GroupWrites, services: ShareServices) -> None:
        self._coordinator = coordinator
        self._writes = writes
        self._services = services

    async def delete(self, group_ids: Iterable[GroupId]) -> Mapping[GroupId, ApiError]:
        """Delete these groups, each named once; return those that are not gone, with the reason.

        GroupIdNotFound and NonEmptyGroup: nothing happened. What else is refused may be tried again; a group of which
        some state could not be deleted is on its way out, and goes on with the next try, or the next start.
        """
        refusals: dict[GroupId, ApiError] = {}
        for some in self._in_batches(tuple(group_ids)):
            refusals.update(await self._delete(some))
            await let_others_go_on()
        return refusals

    async def _delete(self, group_ids: Iterable[GroupId]) -> Mapping[GroupId, ApiError]:
        refusals: dict[GroupId, ApiError] = {}
        deletions: list[_Deletion] = []
        for group_id in group_ids:
            try:
                deletions.append(self._begin(group_id))
            except ApiError as refusal:
                refusals[group_id] = refusal
        await self._go_on(deletions)
        refusals.update((each.group_id, each.refusal) for each in deletions if each.refusal is not None)
        return refusals

    async def complete(self, group_id: GroupId) -> None:
        """Go on with the deletion of a group if it was interrupted; return when the id is free. Raises ApiError."""
        if self._is_being_deleted(group_id):
            for refusal in (await self.delete((group_id,))).values():
                raise refusal

    async def tend(self) -> None:
        """Go on with every deletion that was interrupted. Raises nothing; what fails is tried again another time."""
        for some in self._in_batches(self._coordinator.being_deleted()):
            # While others were deleted these may have gone, and new groups may have their ids.
            await self._delete([group_id for group_id in some if self._is_being_deleted(group_id)])
            await let_others_go_on()

    def _in_batches(self, group_ids: Iterable[GroupId]) -> Iterator[Sequence[GroupId]]:
        """Yield groups that are deleted together, judged by how large they are when it is their turn."""
        some: list[GroupId] = []
        left = _SHARE_PARTITIONS_AT_ONCE
        for group_id in group_ids:
            group = self._coordinator.find(group_id)
            size = 0 if group is None else group.topics.state_partitions.partition_count
            if some and (len(some) == _GROUPS_AT_ONCE or size > left):
                yield some
                some, left = [], _SHARE_PARTITIONS_AT_ONCE
            some.append(group_id)
            left -= size
        if some:
            yield some

    def _begin(self, group_id: GroupId) -> _Deletion:
        """Queue that the group is being deleted. Nothing happened when this raises."""
        self._services.group_log.require_ready(group_id)
        group = self._coordinator.require_empty(group_id)
        _require_initialized(group)
        group.begin_deletion()
        return _Deletion(group, group.image().deleting, self._writes.begin(group_id))

    async def _go_on(self, deletions: Collection[_Deletion]) -> None:
        try:
            await self._let_go(deletions)
        finally:
            await self._settle(deletions)
        await self._delete_states(self._unfinished(deletions))
        await self._remove(self._unfinished(deletions))
        await self._let_go([deletion for deletion in deletions if self._is_there(deletion)])

    async def _settle(self, deletions: Iterable[_Deletion]) -> None:
        for deletion in deletions:
            try:
                await deletion.write.settle()
            except ApiError as refusal:
                self._end(deletion, refusal)

    async def _delete_states(self, deletions: Collection[_Deletion]) -> None:
        of_ids = {deletion.group_id: deletion for deletion in deletions}
        keys = (key for deletion in deletions for key in deletion.keys)
        failures: dict[SharePartitionKey, ApiError] = {}
        while some := tuple(islice(keys, _SHARE_PARTITIONS_AT_ONCE)):
            # Another deletion may be through, and there be a new group of the id.
            left = [key for key in some if self._is_there(of_ids[key.group_id])]
            for key in left:  # in this turn: what a load under way writes would come after the deletion
                self._services.directory.discard(key)
            failures.update(await self._services.state_log.delete(left))
            await let_others_go_on()
        for group_id, refusal in {key.group_id: failure for key, failure in failures.items()}.items():
            self._end(of_ids[group_id], refusal)

    async def _remove(self, deletions: Iterable[_Deletion]) -> None:
        """Remove the records of groups, and forget these groups with what is live of them."""
        removals = [(deletion, self._services.group_log.remove(deletion.group_id)) for deletion in deletions]
        for deletion, removal in removals:
            try:
                await removal
            except ApiError as refusal:
                self._end(deletion, refusal)
            else:
                if self._is_there(deletion):
                    await self._signal(self._forget(deletion))

    def _forget(self, deletion: _Deletion) -> Collection[ShareSession]:
        """Forget the group, and close its share sessions, in this turn: from now on the id may be another group's.

        Nothing of it is live since its states were deleted: a load finds none. Returns the sessions that were closed.
        """
        self._coordinator.forget(deletion.group_id)
        deletion.group.is_deleted = True
        return self._services.sessions.close_group(deletion.group_id)

    def _unfinished(self, deletions: Iterable[_Deletion]) -> Collection[_Deletion]:
        """Return those to go on with, to be done in this turn: what comes after others are done is another group's."""
        for deletion in deletions:
            if not deletion.is_over and not self._is_there(deletion):
                self._end(deletion, _restored(deletion.group_id))
        return [deletion for deletion in deletions if not deletion.is_over]

    def _end(self, deletion: _Deletion, refusal: ApiError) -> None:
        """Go no further, because of `refusal`; which is none when another request has finished the deletion."""
        deletion.is_over = True
        if self._is_there(deletion) or not self._is_gone(deletion):
            deletion.refusal = refusal

    def _is_there(self, deletion: _Deletion) -> bool:
        return self._coordinator.find(deletion.group_id) is deletion.group

    def _is_being_deleted(self, group_id: GroupId) -> bool:
        group = self._coordinator.find(group_id)
        return group is not None and group.is_being_deleted

    def _is_gone(self, deletion: _Deletion) -> bool:
        """Whether the group was deleted, there may be a new one; or nothing of it is in memory, nor in the log."""
        if deletion.group.is_deleted:
            return True
        group_id = deletion.group_id
        with suppress(ApiError):
            return (
                self._coordinator.find(group_id) is None
                and self._services.group_log.durable_image(group_id) is None
            )
        return False

    async def _let_go(self, deletions: Collection[_Deletion]) -> None:
        """Discard what is live of groups as long as they are there, and close their share sessions."""
        of_ids = {deletion.group_id: deletion for deletion in deletions}
        if not of_ids:
            return
        pace = Pace()
        for key in [key for key in self._services.directory.known_keys() if key.group_id in of_ids]:
            if self._is_there(of_ids[key.group_id]):
                self._services.directory.discard(key)
            if pace.is_pause_due():
                await let_others_go_on()
        for deletion in deletions:
            if self._is_there(deletion):
                await self._signal(self._services.sessions.close_group(deletion.group_id))

    async def _signal(self, closed: Collection[ShareSession]) -> None:
        """Let the fetches of share sessions that were closed notice."""
        pace = Pace()
        for session in closed:
            for partition in session.partitions:
                self._services.availability.signal(partition.in_group(session.key.group_id))
                if pace.is_pause_due():
                    await let_others_go_on()
        if closed:  # to find them took a look at every session
            await let_others_go_on()


def _require_initialized(group: ShareGroup) -> None:
    """Raise CoordinatorLoadInProgress if somebody is about to initialize a state: it would come after its deletion."""
    if group.topics.state_partitions.is_under_way:
        raise CoordinatorLoadInProgress(f"share-partitions of group {group.group_id!r} are being initialized")


def _restored(group_id: GroupId) -> CoordinatorNotAvailable:
    return CoordinatorNotAvailable(f"group {group_id!r} was restored meanwhile")
