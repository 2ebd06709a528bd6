"""The steps of a script. One that has nothing to act on, as to acknowledge what was never acquired, does nothing."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Produce:
    """Append a record batch."""

    records: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetch, with a session that is opened when there is none."""

    member: int
    max_records: int
    batch_size: int
    acquire_mode: int


@dataclass(frozen=True, slots=True)
class AcknowledgeHeld:
    """Acknowledge a part of what the member acquired last: offsets `skipped` from its ends."""

    member: int
    skipped: tuple[int, int]
    how: int
    rides_on_fetch: bool


@dataclass(frozen=True, slots=True)
class AcknowledgeEach:
    """Acknowledge each offset of what the member acquired last in its own way; the ways repeat."""

    member: int
    ways: tuple[int, ...]
    rides_on_fetch: bool


@dataclass(frozen=True, slots=True)
class AcknowledgeAny:
    """Acknowledge any offsets, held or not."""

    member: int
    first: int
    last: int
    how: int


@dataclass(frozen=True, slots=True)
class OpenAgain:
    """Let the member's next fetch open its session anew.

    Not: end it. What that releases is released after it was answered, and a fetch may be earlier.
    """

    member: int


@dataclass(frozen=True, slots=True)
class Fail:
    """Fetch so often, and release all that was acquired but one entry, or but none: those that are held go on."""

    member: int
    fetches: int
    spared: int
    max_records: int


@dataclass(frozen=True, slots=True)
class Configure:
    """Set a configuration of the group, or take back what was set (None)."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class DescribeConfigs:
    """Ask for all configurations of the group."""


@dataclass(frozen=True, slots=True)
class LoseLocks:
    """Fetch under a short lock, renew what one member got, and wait until all those locks have ended.

    The first `renewed` offsets of the last entry are renewed, for as short a time again or for one that does not end.
    Nothing is asked for while locks end: those of one fetch do not end at one moment: each has its timer.
    """

    fetches: tuple[Fetch, ...]
    renewed: int
    renews_for_long: bool


@dataclass(frozen=True, slots=True)
class Write:
    """Append a record batch to the transaction of this producer, which begins with it."""

    producer: int
    records: int


@dataclass(frozen=True, slots=True)
class End:
    """Commit or abort the transaction of this producer."""

    producer: int
    is_committed: bool


@dataclass(frozen=True, slots=True)
class Join:
    """Let this member send heartbeats until everybody is assigned the partition."""

    member: int


@dataclass(frozen=True, slots=True)
class Leave:
    """Let this member say that it leaves. It may go on to fetch."""

    member: int


@dataclass(frozen=True, slots=True)
class Unload:
    """Everybody leaves and closes the connection, so that the group is empty and its share-partition not loaded.

    Who fetches next comes back, and with it one that sends heartbeats.
    """


@dataclass(frozen=True, slots=True)
class DescribeOffsets:
    """Ask where the group is, in all it has or in topics by name."""

    is_named: bool


@dataclass(frozen=True, slots=True)
class AlterOffsets:
    """Let the group begin elsewhere; it may have members."""

    offset: int


@dataclass(frozen=True, slots=True)
class DeleteOffsets:
    """Forget where the group is; it may have members."""


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Delete the group, and another that is not there; it may have members."""


@dataclass(frozen=True, slots=True)
class DescribeGroup:
    """Ask who is in the group, as a share group or (with this version) as a classic one."""

    classic_version: int | None


@dataclass(frozen=True, slots=True)
class ListGroups:
    """Ask whether the group is listed among those of a type and a state."""

    types: tuple[str, ...]
    states: tuple[str, ...]


Step: TypeAlias = (
    Produce
    | Fetch
    | AcknowledgeHeld
    | AcknowledgeEach
    | AcknowledgeAny
    | OpenAgain
    | Fail
    | Configure
    | DescribeConfigs
    | LoseLocks
    | Write
    | End
    | Join
    | Leave
    | Unload
    | DescribeOffsets
    | AlterOffsets
    | DeleteOffsets
    | DeleteGroup
    | DescribeGroup
    | ListGroups
)
