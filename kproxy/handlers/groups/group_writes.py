"""Pictures of groups on their way to the group log: queued at once, waited for before anybody is answered.

A group changes in memory first. When its write fails nobody knows what is durable, so the group is forgotten;
the shell restores it from the log, and until then its slot is not ready. A write that is certainly not in the log,
because a record is too large or its append was refused, leaves the slot as it is: the group becomes what is durable of
it at once.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from kproxy.errors import ApiError, CoordinatorNotAvailable, StateNotWritten, UnwritableStateRecord
from kproxy.handlers.ports import GroupLog
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage


class GroupWrites:
    """Writes groups of the coordinator to the group log.

    Args:
        coordinator: the groups.
        group_log: where they become durable.
        restore: puts a durable group into the coordinator, in place of one whose members' sessions go on.
        on_given_up: told of each group that was forgotten, restored or not, as it was: what is held for its members
            is answered.
    """

    __slots__ = ("_coordinator", "_group_log", "_on_given_up", "_restore")

    def __init__(
        self,
        coordinator: GroupCoordinator,
        group_log: GroupLog,
        *,
        restore: Callable[[ShareGroupImage, ShareGroup], None],
        on_given_up: Callable[[ShareGroup], None],
    ) -> None:
        self._coordinator = coordinator
        self._group_log = group_log
        self._restore = restore
        self._on_given_up = on_given_up

    def begin(self, group_id: GroupId) -> "GroupWrite":
        """Queue the group as it is now, unless that is durable already. Raises nothing.

        What others changed and still wait for is queued again: no answer may rest on it before it is durable.
        """
        group = self._coordinator.find(group_id)
        outcome = None
        if group is not None and group.has_undurable_changes:
            outcome = self._group_log.persist(
                group.image(), on_refused=partial(self.give_up, group_id, group)
            )
        return GroupWrite(self, group_id, group, outcome)

    def find(self, group_id: GroupId) -> ShareGroup | None:
        """Return the group as it is in memory now."""
        return self._coordinator.find(group_id)

    def give_up(self, group_id: GroupId, doubted: ShareGroup | None, refusal: ApiError) -> None:
        """Forget a group whose write failed, unless it is another than `doubted`; before anything else changes it.

        What is durable of it takes its place when nothing was written, and the slot is still there.
        """
        if doubted is None or self.find(group_id) is not doubted:
            return
        self._coordinator.forget(group_id)
        if isinstance(refusal, UnwritableStateRecord | StateNotWritten):
            with suppress(ApiError):
                image = self._group_log.durable_image(group_id)
                if image is not None:
                    self._restore(image, doubted)
        self._on_given_up(doubted)


class GroupWrite:
    """One group on its way. `settle` is to be called, whatever happens in between."""

    __slots__ = ("_group", "_group_id", "_outcome", "_revision", "_writes")

    def __init__(
        self,
        writes: GroupWrites,
        group_id: GroupId,
        group: ShareGroup | None,
        outcome: Awaitable[None] | None,
    ) -> None:
        self._writes = writes
        self._group_id = group_id
        self._group = group
        self._revision = 0 if group is None else group.revision
        self._outcome = outcome

    async def settle(self) -> None:
        """Wait until the group is durable as it was when this was made.

        Raises:
            ApiError: that is refused or in doubt, and the group is forgotten, or is what is durable again.
            CoordinatorNotAvailable: it was forgotten, or restored, meanwhile.
        """
        try:
            if self._outcome is not None:
                await self._outcome
        except ApiError as refusal:
            self._writes.give_up(self._group_id, self._group, refusal)
            raise
        self.require_current()
        if self._group is not None:
            self._group.durable_revision = max(self._group.durable_revision, self._revision)

    @property
    def is_current(self) -> bool:
        """Whether the group was neither forgotten nor restored since this was made."""
        return self._writes.find(self._group_id) is self._group

    def require_current(self) -> None:
        """Raise CoordinatorNotAvailable unless this `is_current`."""
        if not self.is_current:
            raise CoordinatorNotAvailable(f"group {self._group_id!r} was restored from its log meanwhile")
