"""What the share-partition side of the handlers stands on, in one value."""

from dataclasses import dataclass, field

from kproxy.handlers.fetch_signals import HeardAvailability
from kproxy.handlers.leadership import Leadership
from kproxy.handlers.member_clients import MemberClients
from kproxy.handlers.parked_fetches import ParkedFetches
from kproxy.handlers.ports import Clock, Observer, PartitionReader, StateLog
from kproxy.handlers.read_turns import ReadTurns
from kproxy.handlers.share_counters import ShareCounters
from kproxy.handlers.share_partitions import SharePartitionDirectory
from kproxy.share.share_session import ShareSessionCache


@dataclass(frozen=True, slots=True)
class ShareServices:
    """Shared by every request: the live state first, then the outside."""

    sessions: ShareSessionCache
    directory: SharePartitionDirectory
    leadership: Leadership
    counters: ShareCounters
    state_log: StateLog
    reader: PartitionReader
    availability: HeardAvailability
    clock: Clock
    observer: Observer
    parked: ParkedFetches
    clients: MemberClients
    turns: ReadTurns = field(default_factory=ReadTurns)
