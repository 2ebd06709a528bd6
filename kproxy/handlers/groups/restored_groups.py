"""`RestoredGroups`: the groups of a slot, and what they have configured, come when it is loaded and go when it is lost.

All of them come, and go, in one turn of the event loop: who looks between two turns finds none or all. There may be a
hundred thousand. So groups come as pictures, of which those are made that somebody asks for, and then the others, in
portions; and those that go are taken apart in portions.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from kproxy.handlers.groups.group_configs import GroupConfigs
from kproxy.handlers.groups.held_heartbeats import HeldHeartbeats
from kproxy.handlers.live.pauses import Pace, SharedStart, let_others_go_on, work_on
from kproxy.handlers.ports import Background
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.share_group_member import ShareGroupMember


class RestoredGroups:
    """Puts the groups of slots into the coordinator, and takes them out.

    Args:
        coordinator: the groups.
        configs: what they have configured.
        held: heartbeats that wait; those of groups that go are answered.
        restore: makes a group of its picture, and puts it into the coordinator.
        background: where the rest is done.
    """

    __slots__ = (
        "_background",
        "_configs",
        "_coordinator",
        "_gone",
        "_held",
        "_is_at_work",
        "_restore",
        "_start",
    )

    def __init__(
        self,
        coordinator: GroupCoordinator,
        configs: GroupConfigs,
        held: HeldHeartbeats,
        *,
        restore: Callable[[ShareGroupImage], None],
        background: Background,
    ) -> None:
        self._coordinator, self._configs, self._held = coordinator, configs, held
        self._restore = restore
        self._background = background
        self._start = SharedStart()
        self._gone: list[ShareGroup | dict[GroupId, ShareGroupImage] | Mapping[str, str]] = []
        self._is_at_work = False

    def come(
        self,
        images: dict[GroupId, ShareGroupImage],
        configs: Mapping[str, Mapping[str, str]],
        *,
        slot: int | None = None,
    ) -> None:
        """Let all of these be there from now on: their slot was loaded. Sessions begin anew when a group is made.

        Of `configs` everything is taken for usable (`group_configs.usable_values`).
        """
        self._configs.restore_all(configs, slot)
        self._let_go(self._coordinator.known.restore(images, self._restore, place=slot))
        self._work()

    def go(self, slot: int) -> None:
        """Let none of a slot be there from now on: it was lost, or failed and is to be loaded again.

        What is held of the groups is answered, bit by bit.
        """
        self._gone += self._configs.forget_all(self._configs.placed.take(slot))
        groups, pictures = self._coordinator.known.take(slot)
        self._gone.append(pictures)
        self._let_go(groups)
        self._work()

    def _let_go(self, groups: Collection[ShareGroup]) -> None:
        """Count their names no more, now; the rest of them is taken apart bit by bit."""
        names = self._coordinator.names
        for group in groups:
            if not names.count:
                break  # no group that is left has any
            if group.topics.name_count:
                group.topics.leave()
        self._gone += groups

    def _work(self) -> None:
        if self._is_at_work:
            return
        pace = Pace(start=self._start)
        if self._work_on(pace):
            self._is_at_work = True
            self._background.begin_now(partial(self._work_on_all, pace), name="groups of slots")

    async def _work_on_all(self, pace: Pace) -> None:
        try:
            await let_others_go_on()
            while self._work_on(pace):
                await let_others_go_on()
        finally:
            self._is_at_work = False

    def _work_on(self, pace: Pace) -> bool:
        """Do as much as there is time for; tell whether something may be left. What is held is answered first."""
        known = self._coordinator.known
        while self._gone:
            if pace.is_pause_due(self._take_apart_one()):
                return True
        while work := known.make_one():
            if pace.is_pause_due(work):
                return True
        return False

    def _take_apart_one(self) -> int:
        """Let go of one that is gone, and return how much work that was."""
        gone = self._gone.pop()
        if isinstance(gone, dict):
            if gone:
                gone.popitem()
                self._gone.append(gone)
        elif isinstance(gone, ShareGroup):
            self._held.call_group(gone)
            gone.leave()
            return _work_on(gone.members.values())
        return 1


def _work_on(members: Iterable[ShareGroupMember]) -> int:
    return 1 + sum(work_on(len(member.assigned)) for member in members)
