"""What a member asks the coordinator of its group, and what it is answered: the group protocol without its bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from kproxy.error_codes import ErrorCode

PROTOCOL_TYPE: Final = "kproxy"
"""What tells the fleet's group from consumers' and Connect's; a group has one type as long as it has members."""

PROTOCOL_NAME: Final = "slots-1"
"""The one protocol there is. A change that an elder kproxy could not read takes another name: the coordinator turns
away a member that has none in common with the others (INCONSISTENT_GROUP_PROTOCOL)."""

NO_GENERATION: Final = -1


@dataclass(frozen=True, slots=True)
class Join:
    """JoinGroup; without a member id at first. It is answered when all members have joined."""

    member_id: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Sync:
    """SyncGroup; from the leader with what each member is to be told."""

    member_id: str
    generation: int
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Heartbeat."""

    member_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class Describe:
    """DescribeGroups: who is in the group, asked by a member whose first generation is not there yet."""

    member_id: str


@dataclass(frozen=True, slots=True)
class RemoveDead:
    """LeaveGroup for others, the `dead`, as `removeMembersFromConsumerGroup` does it."""

    member_id: str
    dead: frozenset[str]


@dataclass(frozen=True, slots=True)
class Leave:
    """LeaveGroup."""

    member_id: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A generation has its members. `metadata` is that of all of them by member id, for the leader alone."""

    member_id: str
    generation: int
    leader_id: str
    metadata: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Synced:
    """What the leader has for this member."""

    assignment: bytes


@dataclass(frozen=True, slots=True)
class Alive:
    """A heartbeat was answered without an error."""


class GroupState(StrEnum):
    """The states of a classic group, as DescribeGroups tells them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class Described:
    """The group at one moment. `state` is a GroupState, or what a newer broker calls it.

    `dead` are those members whose processes have ended for certain; of the others nobody knows.
    """

    state: str
    member_ids: frozenset[str]
    dead: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Left:
    """The member is out of the group, or was before; or those are that another member had removed."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An error code. `member_id` is the id that goes with MEMBER_ID_REQUIRED (KIP-394)."""

    error_code: ErrorCode
    member_id: str = ""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Nobody knows what became of the question: the connection was lost, or the answer took too long."""


Step: TypeAlias = Join | Sync | Leave
"""What a member asks one at a time, and waits for as long as it takes."""

Pulse: TypeAlias = Heartbeat | Describe | RemoveDead
"""What a member asks every now and then beside its steps, on another connection: brokers answer those of one in
turn."""

Answer: TypeAlias = Joined | Synced | Alive | Described | Left | Refused | Unanswered
