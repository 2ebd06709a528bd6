"""`SlotContents`: what share groups hold in memory of each slot, taken over and forgotten as slots come and go."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.handlers.share_groups import ShareGroups
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.share_session import ShareSession

PLACES_KEPT_SECONDS: Final = 60.0
"""For so long after a look nobody's id is hashed again, nor forgotten."""


@dataclass(frozen=True, slots=True)
class _BySlot:
    """What was held at one moment, by the number of its slot."""

    generation: object
    """Another one when something is held that is not in here."""
    fetched_ids: Mapping[int, Sequence[GroupId]]
    """Groups with something that is live, being loaded, remembered since it was live, or that a fetch waits for."""
    sessions: Mapping[int, Sequence[ShareSession]]


class SlotContents:
    """Implements `SlotListener` over the share groups of the process.

    One connection that ends, or another process that takes over, makes all slots be lost in one turn of the event loop,
    and nothing may serve from any of them a moment longer. So sessions, and the groups that something is live of, are
    looked through once for all of them, and share-partitions of a slot's groups alone, in portions: with their group
    they end at once. Groups that are there, or have configured something, are kept by slot: nobody looks through them.
    """

    def __init__(self, directory: SlotDirectory, share_groups: Callable[[], ShareGroups]) -> None:
        self._directory = directory
        self._share_groups = share_groups
        self._last: _BySlot | None = None
        self._places = _Places()
        self._arranged: tuple[ShareGroups, StateSlots] | None = None

    def slot_loaded(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Begin with the groups of the slot, and what they have configured, as they are in the log.

        Fetches that wait for one of their share-partitions are woken.
        """
        self._arrange()
        self._share_groups().restore_groups(images, configs, slot)
        self._share_groups().discard_live(self._held().fetched_ids.get(slot, ()))

    def slot_lost(self, slot: int) -> None:
        """Forget the groups of the slot with what they have configured, and discard their share-partitions.

        What these held is delivered again.
        """
        self._arrange()
        self._share_groups().discard_live(self._held().fetched_ids.get(slot, ()))
        self._share_groups().forget_slot(slot)

    def slot_left(self, slot: int) -> None:
        """End the share sessions of the groups of the slot: their members open them anew where it is served."""
        self._share_groups().end_sessions(self._held().sessions.get(slot, ()))

    def _arrange(self) -> None:
        """Let groups, and what they have configured, be found by the slots that there are now."""
        groups, slots = self._share_groups(), self._directory.require()
        if self._arranged == (groups, slots):
            return
        self._arranged = groups, slots
        seen, known, configs = self._places.of(slots), groups.coordinator.known, groups.configs

        def slot_of_new(group_id: str) -> int:
            return slots.slot_of_group(group_id).number

        known.placed.arrange(known.ids, seen, slot_of_new)
        configs.placed.arrange(configs.known_ids, seen, slot_of_new)

    def _held(self) -> _BySlot:
        """Return all that is held, and maybe some that was: from the last look, if nothing was added since."""
        groups, slots = self._share_groups(), self._directory.require()
        parts = (groups.directory, groups.availability, groups.sessions)
        generation = (groups, slots, *(part.generation for part in parts))
        if self._last is None or self._last.generation != generation:
            self._last = _by_slot(generation, groups, self._places.of(slots))
            asyncio.get_running_loop().call_soon(self._let_go)
        return self._last

    def _let_go(self) -> None:
        self._last = None


class _Places:
    """The slots of the groups that the last look came by, for a minute: slots come and go together.

    To hash an id of 2,000 characters takes a hundred times as long.
    """

    def __init__(self) -> None:
        self._slots: StateSlots | None = None
        self._numbers: dict[str, int] = {}
        self._forgetting: asyncio.TimerHandle | None = None

    def of(self, slots: StateSlots) -> Callable[[str], int]:
        """Return what tells the number of a group's slot. What it is asked for is what is kept for the next look.

        Of other slots nothing is kept: there may be another number of them.
        """
        before, numbers = self._numbers if slots is self._slots else {}, dict[str, int]()

        def number_of(group_id: str) -> int:
            number = numbers.get(group_id)
            if number is None:
                number = before.get(group_id)
                if number is None:
                    number = slots.slot_of_group(group_id).number
                numbers[group_id] = number
            return number

        if self._forgetting is not None:
            self._forgetting.cancel()
        self._slots, self._numbers = slots, numbers
        self._forgetting = asyncio.get_running_loop().call_later(PLACES_KEPT_SECONDS, self._forget)
        return number_of

    def _forget(self) -> None:
        self._slots, self._numbers = None, {}


def _by_slot(generation: object, groups: ShareGroups, slot_of: Callable[[str], int]) -> _BySlot:
    fetched_ids: dict[int, list[GroupId]] = defaultdict(list)
    for fetched_id in groups.directory.known_group_ids().union(groups.availability.listened_group_ids()):
        fetched_ids[slot_of(fetched_id)].append(fetched_id)
    sessions: dict[int, list[ShareSession]] = defaultdict(list)
    for session in groups.sessions.sessions():
        sessions[slot_of(session.key.group_id)].append(session)
    return _BySlot(generation, fetched_ids, sessions)
