"""`ServedClaim`: what a slot has from one claim, between the moment it is loaded and the moment it is left."""

import asyncio
import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from kproxy.errors import ApiError, FencedLeaderEpoch, NotCoordinator, StateLogUnavailable
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.net.state_log.every_step import take_every_step
from kproxy.net.state_log.loading import LoadedSlot
from kproxy.net.state_log.partition_writer import Doubt, PartitionWriter
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.group_queue import GroupOperation
from kproxy.statelog.operations import Operation
from kproxy.statelog.tickets import Ticket


class SlotListener(Protocol):
    """Who holds in memory what is durable in a slot. All are called on the event loop and must not raise."""

    def slot_loaded(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Take over the groups of the slot, and the configurations of groups, as they are in the log."""
        ...

    def slot_lost(self, slot: int) -> None:
        """Forget everything that belongs to the slot: nobody knows whether it is true."""
        ...

    def slot_left(self, slot: int) -> None:
        """End the share sessions over the slot, which was lost before: another process is to serve it."""
        ...


@dataclass(frozen=True, slots=True)
class ServedClaim:
    """What is durable in a slot, what waits to become so, and who writes it. It lives and ends as one."""

    loaded: LoadedSlot
    writers: tuple[PartitionWriter, PartitionWriter]
    """Of the state topic's partition, and of the groups topic's."""
    left: asyncio.Future[None]
    """Done when the claim is not served any more."""

    def submit(self, operation: Operation) -> Ticket:
        """Queue an operation on share-partition state."""
        ticket = self.loaded.states.submit(operation)
        self.writers[0].wake()
        return ticket

    def submit_group(self, operation: GroupOperation) -> Ticket:
        """Queue a change of a group, or of what is kept beside groups."""
        ticket = self.loaded.groups.submit(operation)
        self.writers[1].wake()
        return ticket

    def end(self, doubt: Doubt, detail: str) -> None:
        """Write nothing more, and refuse what waits: what is queued must not be answered as if it were durable.

        Raises nothing; what the refusal of one queue meets keeps the other from nothing.
        """
        if not self.left.done():  # cancelled with the life of the slot
            self.left.set_result(None)
        for writer in self.writers:
            writer.end()
        for_states, for_groups = _refusals(doubt, detail)
        take_every_step(
            "slot_not_left",
            partial(self.loaded.states.fail, for_states),
            partial(self.loaded.groups.fail, for_groups),
        )

    async def take_apart(self) -> None:
        """Let go of what was served and has ended, with turns for others in between: there may be very many groups."""
        pace = Pace()
        for work in self.loaded.take_apart():
            if pace.is_pause_due(work):
                # CPython counts what is freed against what is new: what others make meanwhile would pile up, and be
                # looked through all at once.
                gc.collect(1)
                await let_others_go_on()


def _refusals(doubt: Doubt, detail: str) -> tuple[ApiError, ApiError]:
    """Return what writers of share-partition state, and of groups, are told."""
    if doubt is Doubt.FENCED:
        return FencedLeaderEpoch(detail), NotCoordinator(detail)
    return StateLogUnavailable(detail), StateLogUnavailable(detail)
