"""What the share-partition side of the handlers stands on, in one value."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kproxy.handlers.authorization import Authorization
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.fetch_signals import HeardAvailability
from kproxy.handlers.live.leadership import Leadership
from kproxy.handlers.live.member_clients import MemberClients
from kproxy.handlers.live.parked_fetches import ParkedFetches
from kproxy.handlers.live.read_turns import ReadTurns
from kproxy.handlers.live.share_counters import ShareCounters
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.handlers.ports import Background, Clock, GroupLog, Observer, PartitionReader, StateLog
from kproxy.share.identifiers import GroupId
from kproxy.share.share_session import ShareSessionCache


@dataclass(frozen=True, slots=True)
class ShareServices:
    """Shared by every request: the live state first, then the outside."""

    sessions: ShareSessionCache
    directory: SharePartitionDirectory
    leadership: Leadership
    counters: ShareCounters
    state_log: StateLog
    group_log: GroupLog
    authorization: Authorization
    reader: PartitionReader
    availability: HeardAvailability
    clock: Clock
    observer: Observer
    background: Background
    parked: ParkedFetches
    clients: MemberClients
    isolation_of: Callable[[GroupId], IsolationLevel]
    """Which records a group is given at this moment."""
    turns: ReadTurns = field(default_factory=ReadTurns)
