"""What may be asked of the state of share-partitions, as it waits for its append. See `state_queue`."""

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.state_batches import StateDelta, lay_over
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.share_coordinator import require_possible_write

INITIALIZATION: Final = Actor(Cause.INITIALIZE)
TAKEOVER: Final = Actor(Cause.LOAD)
DELETION: Final = Actor(Cause.DELETE)
HOUSEKEEPING: Final = Actor(Cause.SNAPSHOT)


@dataclass(slots=True)
class Write:
    """Lay `delta` over the state, as `ShareCoordinator.write_state`. The ticket's response is None."""

    key: SharePartitionKey
    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    delta: StateDelta
    actors: tuple[Actor, ...]


@dataclass(slots=True)
class Initialize:
    """Begin the state anew, as `ShareCoordinator.initialize_state`. The ticket's response is None.

    With `keeps_progress` a state that began already goes on, as `ShareCoordinator.begin_state` has it.
    """

    key: SharePartitionKey
    state_epoch: StateEpoch
    start_offset: int
    actor: Actor = INITIALIZATION
    keeps_progress: bool = False


@dataclass(slots=True)
class Move:
    """Begin the state anew at another offset, as `ShareCoordinator.move_state`. The ticket's response is None."""

    key: SharePartitionKey
    state_epoch: StateEpoch
    start_offset: int
    actor: Actor


@dataclass(slots=True)
class Load:
    """Take the share-partition over: the leader epoch becomes stored + 1.

    The ticket's response is the DurableShareState after that, None when there is no state (nothing is written then).
    """

    key: SharePartitionKey
    actor: Actor = TAKEOVER


@dataclass(slots=True)
class Read:
    """Read the state under a leader epoch, as `ShareCoordinator.read_state`. Responds with the DurableShareState."""

    key: SharePartitionKey
    leader_epoch: LeaderEpoch
    actor: Actor = TAKEOVER


@dataclass(slots=True)
class Delete:
    """End the state, as `ShareCoordinator.delete_state`. The ticket's response is None."""

    key: SharePartitionKey
    actor: Actor = DELETION


@dataclass(slots=True)
class ReadSummary:
    """Look at the state. Responds with the DurableShareState, or None when there is none; writes nothing."""

    key: SharePartitionKey


@dataclass(slots=True)
class ColdSnapshots:
    """Snapshot what was not written since this moment (epoch ms), as `ShareCoordinator.cold_keys` chooses.

    May take several appends. The ticket's response is the number of snapshots; when one of them is too large for
    the log, all others are made, and then the ticket is refused with UnwritableStateRecord.
    """

    not_written_since_ms: int
    actor: Actor = HOUSEKEEPING


KeyedOperation: TypeAlias = Write | Initialize | Move | Load | Read | Delete | ReadSummary
Operation: TypeAlias = KeyedOperation | ColdSnapshots


def requested_write(
    key: SharePartitionKey, state_epoch: StateEpoch, leader_epoch: LeaderEpoch, asked: StateDelta
) -> Write:
    """Return the write that a request asks for, whose batches may overlap in any order and lie below its start offset.

    Raises InvalidRequest as `require_possible_write`. Source: `ShareCoordinatorShard.mergeBatches`.
    """
    require_possible_write(key, state_epoch, leader_epoch, asked)
    delta = replace(asked, batches=lay_over((), asked.batches, asked.start_offset))
    ranges = tuple((batch.first_offset, batch.last_offset) for batch in delta.batches)
    return Write(key, state_epoch, leader_epoch, delta, (Actor(Cause.OPERATOR, offset_ranges=ranges),))
