"""What a slot of the state log says of itself, for people and probes.

Slot n is partition n of the state topic together with partition n of the groups topic. They are owned together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kproxy.share.identifiers import SharePartitionKey
from kproxy.statelog.durable_state import DurableShareState


class SlotState(StrEnum):
    """Where a slot is in its life. Only a READY one serves share APIs."""

    CLAIMING = "claiming"
    """Becoming the only writer: producer epoch, then the claim record."""
    LOADING = "loading"
    """Replaying the log up to the claim record."""
    READY = "ready"
    STOPPED = "stopped"
    """A record could not be taken, or the log is not what it was; an operator has to look."""
    STEPPED_DOWN = "stepped-down"
    """Another process claimed the slot."""

    @property
    def is_under_way(self) -> bool:
        """Whether the slot is about to become READY, as far as anybody knows."""
        return self in {SlotState.CLAIMING, SlotState.LOADING}

    @property
    def is_over(self) -> bool:
        """Whether the slot will never be READY again in this process."""
        return self in {SlotState.STOPPED, SlotState.STEPPED_DOWN}


TRANSITIONS: Final[Mapping[SlotState, frozenset[SlotState]]] = {
    SlotState.CLAIMING: frozenset(
        {SlotState.CLAIMING, SlotState.LOADING, SlotState.STOPPED, SlotState.STEPPED_DOWN}
    ),
    SlotState.LOADING: frozenset(
        {SlotState.READY, SlotState.CLAIMING, SlotState.STOPPED, SlotState.STEPPED_DOWN}
    ),
    SlotState.READY: frozenset({SlotState.CLAIMING, SlotState.STOPPED, SlotState.STEPPED_DOWN}),
    SlotState.STOPPED: frozenset({SlotState.STOPPED, SlotState.STEPPED_DOWN}),
    SlotState.STEPPED_DOWN: frozenset({SlotState.STOPPED}),
}
"""What may follow each state. CLAIMING follows itself when a broker does not answer, and READY or LOADING on doubt.

Of the states that are over the last reason counts: topics that are gone, or another process that owns the slot.
"""


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """One slot at one moment.

    `reason` says in one sentence why the slot is not READY and is empty when it is. `claim_epoch` is -1 before the
    slot was ever claimed. `applied_offset` is that of the last record of the state topic looked at, -1 for none;
    everything from `recovery_point` on is read at the next start. `key_count` counts share-partitions with durable
    state, `waiting_count` operations that wait for an append or are in one.
    """

    partition: int
    state: SlotState
    reason: str
    claim_epoch: int
    applied_offset: int
    recovery_point: int
    key_count: int
    waiting_count: int


@dataclass(frozen=True, slots=True)
class AppliedStates:
    """Every durable state that the log up to and including `applied_offset` folds to."""

    applied_offset: int
    states: Mapping[SharePartitionKey, DurableShareState]
