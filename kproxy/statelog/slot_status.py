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
    """Where a slot is in its life, as this process sees it. Only a READY one serves share APIs."""

    UNASSIGNED = "unassigned"
    """Nobody is known to own it: the fleet has not said so yet, or it is on the way to its next owner."""
    CLAIMING = "claiming"
    """Becoming the only writer: producer epoch, then the claim record."""
    LOADING = "loading"
    """Replaying the log up to the claim record."""
    READY = "ready"
    LEAVING = "leaving"
    """What was queued is being written; then it goes to another process."""
    ELSEWHERE = "elsewhere"
    """Another process of the fleet owns it."""
    STOPPED = "stopped"
    """A record could not be taken, or the log is not what it was; an operator has to look."""

    @property
    def is_under_way(self) -> bool:
        """Whether the slot is about to become READY, as far as anybody knows."""
        return self in {SlotState.UNASSIGNED, SlotState.CLAIMING, SlotState.LOADING}

    @property
    def is_owned(self) -> bool:
        """Whether the slot is this process's, whatever it is doing with it."""
        return self not in {SlotState.UNASSIGNED, SlotState.ELSEWHERE}

    @property
    def is_well(self) -> bool:
        """Whether nobody needs to look: it is READY, another process's, or being handed over to one."""
        return self in {SlotState.READY, SlotState.LEAVING, SlotState.ELSEWHERE}


_WITHOUT_IT: Final = frozenset({SlotState.UNASSIGNED, SlotState.ELSEWHERE, SlotState.STOPPED})

TRANSITIONS: Final[Mapping[SlotState, frozenset[SlotState]]] = {
    SlotState.UNASSIGNED: _WITHOUT_IT | {SlotState.CLAIMING},
    SlotState.CLAIMING: _WITHOUT_IT | {SlotState.CLAIMING, SlotState.LOADING},
    SlotState.LOADING: _WITHOUT_IT | {SlotState.READY, SlotState.CLAIMING},
    SlotState.READY: _WITHOUT_IT | {SlotState.CLAIMING, SlotState.LEAVING},
    SlotState.LEAVING: _WITHOUT_IT,
    SlotState.ELSEWHERE: _WITHOUT_IT | {SlotState.CLAIMING},
    SlotState.STOPPED: _WITHOUT_IT | {SlotState.CLAIMING},
}
"""What may follow each state. CLAIMING follows itself when a broker does not answer, READY or LOADING on doubt, and
the states without the slot when the fleet gives it to this process."""


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
