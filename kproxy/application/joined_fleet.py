"""`JoinedFleet`: this process's place among the kproxies in front of one cluster, from which it has its slots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy import __version__
from kproxy.fleet.fleet_map import NOBODY, FleetMap
from kproxy.fleet.fleet_map import FleetMember as MapMember
from kproxy.fleet.limits import FleetLimits
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.member_state import MemberState
from kproxy.fleet.membership import Membership
from kproxy.fleet.owners import Peer
from kproxy.fleet.peer_hello import FleetIdentity
from kproxy.handlers.ports import WallClock
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.counting import Counting
from kproxy.net.fleet.coordinator_link import CoordinatorLink
from kproxy.net.fleet.fleet_member import FleetClocks, FleetMember, Reach
from kproxy.net.fleet.lease_clock import LeaseClock
from kproxy.net.fleet.process_lock import ProcessLock
from kproxy.net.state_log.slots import StateSlots
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort
from kproxy.share.identifiers import GroupId
from kproxy.statelog.claims import NO_MAP_EPOCH, STATE_FORMAT_VERSION
from kproxy.statelog.partitioning import group_partition

_MOVES: Final = "fleet_slot_moves"
REBALANCE_SECONDS_MORE: Final = 4
"""How much longer than a session the members of a fleet may take to join anew."""


@dataclass(frozen=True, slots=True)
class FleetSeat:
    """What stays the same of a member, whatever state log it serves from. `name` is for people, `token` unique."""

    group_id: str
    state_topic: str
    name: str
    token: str
    session_timeout_ms: int

    @property
    def limits(self) -> FleetLimits:
        """The times of its membership."""
        longer_ms = self.session_timeout_ms + REBALANCE_SECONDS_MORE * 1000
        return FleetLimits(session_timeout_ms=self.session_timeout_ms, rebalance_timeout_ms=longer_ms)


class JoinedFleet:
    """Implements `net.state_log.service.Fleet`, `GroupOwners` and `SlotOwners`.

    Args:
        seat: this process.
        address: where the others reach this process.
        reach: sees who can be reached.
        counting: counts maps, and slots that come and go.
    """

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        seat: FleetSeat,
        *,
        address: Callable[[], HostPort],
        reach: Reach,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        wall_clock: WallClock,
        tasks: TaskKeeper,
        counting: Counting,
    ) -> None:
        self._seat = seat
        self._counting = counting
        self._address = address
        self._reach = reach
        self._metadata = metadata
        self._connections = connections
        self._clocks = FleetClocks(LeaseClock(), wall_clock)
        self._tasks = tasks
        self._process: ProcessLock | None = None
        self._link: CoordinatorLink | None = None
        self._table = self._new_table(None)
        self.on_map: Callable[[], None] = lambda: None
        """Called when the owners of slots have changed, or may have."""
        self.member: FleetMember | None = None
        """This process as a member; None before there is a state log."""

    @property
    def identity(self) -> FleetIdentity | None:
        """What peers are told of this process; None before there is a state log."""
        cluster_id, seat = self._metadata.cluster_id, self._seat
        if self.member is None or cluster_id is None:
            return None
        profile = self.member.membership.profile
        return FleetIdentity(
            cluster_id,
            seat.state_topic,
            profile.state_format_version,
            profile.slot_count,
            seat.group_id,
            seat.token,
            seat.name,
        )

    # ------------------------------------------------ Fleet

    @property
    def fleet_group(self) -> str:
        """The group on the backing cluster."""
        return self._seat.group_id

    @property
    def map_epoch(self) -> int:
        """The epoch of the newest map; -1 before any."""
        fleet_map = None if self.member is None else self.member.fleet_map
        return NO_MAP_EPOCH if fleet_map is None else fleet_map.epoch

    def may_serve(self, slot: int) -> bool:
        """Tell whether this process, and so no other one, may serve a slot now."""
        return self.member is not None and self.member.may_serve(slot)

    def saw_epoch(self, epoch: int) -> None:
        """Know of a claim of `epoch` in the log."""
        if self.member is not None:
            self.member.saw_epoch(epoch)

    def gave_up(self, slots: frozenset[int]) -> None:
        """Know that slots which were to be given up are served here no more."""
        if self.member is not None:
            self.member.gave_up(slots)

    async def join(self, slots: StateSlots, slot_count: int) -> None:
        """Join, and tell `slots` of every map from now on."""
        address = self._address()
        self._process = self._process or ProcessLock.take()
        seat, self._table = self._seat, self._new_table(slots)
        profile = MemberProfile(
            token=seat.token,
            name=seat.name,
            host=address.host,
            port=address.port,
            kproxy_version=__version__,
            state_format_version=STATE_FORMAT_VERSION,
            slot_count=slot_count,
        )
        self._link = CoordinatorLink(
            seat.group_id,
            seat.limits,
            process=self._process,
            metadata=self._metadata,
            connections=self._connections,
        )
        self.member = FleetMember(
            Membership(profile, seat.limits, first_epoch=self._clocks.wall.now_ms()),
            self._table,
            coordinator=self._link,
            reach=self._reach,
            clocks=self._clocks,
            tasks=self._tasks,
        )
        self.member.start()

    def desert(self) -> None:
        """Be in it no more: its state log is gone."""
        if self.member is not None:
            self._tasks.spawn(_leave(self.member, self._link), name="leaving the fleet")
        self.member, self._table = None, self._new_table(None)

    async def hand_over(self, patience_ms: int) -> None:
        """Hand slots over for `patience_ms` at most, as long as there is anybody who may have them."""
        if self.member is not None:
            await self.member.hand_over(patience_ms=patience_ms)

    async def leave(self, patience_ms: int) -> None:
        """Hand slots over for `patience_ms` at most, lose what is left, and be in it no more; the map stays known.

        Where the coordinator did not say that it left, its successor sees that it is dead once the process has ended.
        """
        if self.member is not None:
            await self.member.leave(patience_ms=patience_ms)
        if self._process is not None and self._is_out:
            self._process.release()

    @property
    def _is_out(self) -> bool:
        """Whether the group has this process among its members no more, or never had."""
        has_left = self._link is not None and self._link.has_left
        return has_left or (self.member is not None and not self.member.membership.member_id)

    def _new_table(self, slots: StateSlots | None) -> "_OwnerTable":
        return _OwnerTable(self._seat.token, slots, self._map_changed, self._counting)

    def _map_changed(self) -> None:
        self.on_map()

    # ------------------------------------------------ GroupOwners, SlotOwners

    @property
    def own_name(self) -> str:
        """What people call this process."""
        return self._seat.name

    @property
    def own_token(self) -> str:
        """What tells this process from every other."""
        return self._seat.token

    def peer_of_group(self, group_id: str) -> Peer | None:
        """Return the other process that serves a group; None when this one does, or nobody for the moment."""
        owners = self._table.owners
        return owners[group_partition(GroupId(group_id), len(owners))] if self._table.peers else None

    def peer_of_slot(self, slot: int) -> Peer | None:
        """Return the other process that owns a slot; None when this one does, or nobody for the moment."""
        return self._table.owners[slot] if self._table.peers else None

    def peers(self) -> Sequence[Peer]:
        """Return every other process that serves any group."""
        return self._table.peers

    def is_map_current(self) -> bool:
        """Tell whether the map is no older than a lease: not after this process stood still, or lost its coordinator.

        By the clock, whatever was called. Who has left in order goes by the last map that it heard of.
        """
        member = self.member
        return member is not None and (member.membership.state is MemberState.LEFT or member.lease_ms > 0)


async def _leave(member: FleetMember, link: CoordinatorLink | None) -> None:
    await member.leave(patience_ms=0)
    if link is not None:
        link.close()


class _OwnerTable:
    """Implements `FleetListener` for one state log: who owns each slot, and what becomes of those that are here."""

    def __init__(
        self, own_token: str, slots: StateSlots | None, on_map: Callable[[], None], counting: Counting
    ) -> None:
        self.owners: tuple[Peer | None, ...] = ()
        """The other process that owns each slot; None for those of this one, and of nobody."""
        self.peers: tuple[Peer, ...] = ()
        self._own_token = own_token
        self._slots = slots
        self._on_map = on_map
        self._counting = counting

    def map_changed(self, fleet_map: FleetMap, gained: frozenset[int]) -> None:
        self._counting.count("fleet_maps")
        self._counting.count(_MOVES, len(gained), "taken")
        places = [self._peer_of(member) for member in fleet_map.members]
        self.owners = tuple(None if place == NOBODY else places[place] for place in fleet_map.owners)
        self.peers = tuple(dict.fromkeys(peer for peer in self.owners if peer is not None))
        if self._slots is not None:
            self._slots.map_changed(fleet_map, gained)
        self._on_map()

    def give_up(self, slots: frozenset[int]) -> None:
        self._counting.count(_MOVES, len(slots), "given_up")
        if self._slots is not None:
            self._slots.give_up(slots)

    def slots_lost(self, slots: frozenset[int], reason: str) -> None:
        self._counting.count(_MOVES, len(slots), "lost")
        if self._slots is not None:
            self._slots.slots_lost(slots, reason)

    def _peer_of(self, member: MapMember) -> Peer | None:
        is_myself = member.token == self._own_token
        return None if is_myself else Peer(member.token, member.name, member.host, member.port)
