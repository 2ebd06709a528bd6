"""The fleet as `/api/v1/status` shows it: its members, and who of them owns what. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.statelog.slot_status import SlotState, SlotStatus

NO_MAP: Final = -1
"""The epoch of the map before any."""

_MOST_TROUBLED_SLOTS: Final = 10
_MEMBER_STATES: Final = (("owning",), ("without_slots",), ("leaving",), ("refused",))


@dataclass(frozen=True, slots=True)
class FleetMemberView:
    """A process. `address` is its internal one as HOST:PORT, empty when what it said of itself could not be read.

    `slots_owned` counts those that it is to give up, too. `problem` says why it gets no slots; empty if it may.
    """

    name: str
    address: str
    slots_owned: int
    is_this_process: bool
    is_leaving: bool
    problem: str


@dataclass(frozen=True, slots=True)
class FleetSlotsView:
    """The slots of the state log, as this process sees them.

    `owned` are its own by what it does with them: `ready`, `loading` (or being claimed), and others that are stopped or
    being handed over. `wanted` are to come to it from other processes. `unassigned` are on the way between two
    processes, or nobody said yet whose they are.
    """

    count: int
    owned: int
    ready: int
    loading: int
    wanted: int
    unassigned: int


@dataclass(frozen=True, slots=True)
class SlotMovesView:
    """How many slots came to this process since it started, it was asked to hand over, and it lost at once."""

    taken: int
    given_up: int
    lost: int


@dataclass(frozen=True, slots=True)
class TroubledSlotView:
    """A slot of the state log that is not served here and should be, or might; `reason` says why not."""

    partition: int
    state: SlotState
    reason: str


@dataclass(frozen=True, slots=True)
class FleetView:
    """This process's fleet. `group` is that on the backing cluster, `name` what people call this process.

    `state` is where its membership is, and `problem` why it may serve no slots; empty if it may. `lease_ms` is for how
    long it may serve its slots if it hears nothing more, 0 while it may serve none. `map_epoch` is that of the newest
    map, -1 before any. `troubled_slots` are those that somebody may have to look at, stopped ones first: ten at most,
    and `slots` counts all.
    """

    group: str
    name: str
    state: str
    problem: str
    map_epoch: int
    lease_ms: int
    slots: FleetSlotsView
    moves: SlotMovesView
    members: tuple[FleetMemberView, ...]
    troubled_slots: tuple[TroubledSlotView, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetStanding:
    """What a process knows of itself as a member. `member_id` is the coordinator's, empty before it gave one."""

    group: str
    name: str
    member_id: str = ""
    state: str = "outside"
    problem: str = ""
    lease_ms: int = 0
    fleet_map: FleetMap | None = None


def fleet_view(standing: FleetStanding, statuses: Iterable[SlotStatus], moves: SlotMovesView) -> FleetView:
    """Return the fleet as a process sees it that stands in it like this."""
    fleet_map, all_statuses = standing.fleet_map, list(statuses)
    members = () if fleet_map is None else fleet_map.members
    views = [
        _member_view(member, fleet_map, standing.member_id) for member in members if fleet_map is not None
    ]
    return FleetView(
        group=standing.group,
        name=standing.name,
        state=standing.state,
        problem=standing.problem,
        map_epoch=NO_MAP if fleet_map is None else fleet_map.epoch,
        lease_ms=standing.lease_ms,
        slots=_slots_view(standing, [status.state for status in all_statuses]),
        moves=moves,
        members=tuple(sorted(views, key=lambda view: (view.name, view.address))),
        troubled_slots=_troubled_slots(all_statuses),
    )


def members_by_state(fleet_map: FleetMap | None) -> Mapping[tuple[str, ...], float]:
    """Return how many members own slots, may own some and do not, are leaving, and are refused any."""
    counts: dict[tuple[str, ...], float] = dict.fromkeys(_MEMBER_STATES, 0)
    if fleet_map is None:
        return counts
    for member in fleet_map.members:
        counts[_state_of(member, fleet_map),] += 1
    return counts


def _state_of(member: FleetMember, fleet_map: FleetMap) -> str:
    if member.refusal is not None:
        return "refused"
    if member.is_leaving:
        return "leaving"
    return "owning" if fleet_map.slots_of(member.member_id) else "without_slots"


def _member_view(member: FleetMember, fleet_map: FleetMap, own_member_id: str) -> FleetMemberView:
    return FleetMemberView(
        name=member.name,
        address=f"{member.host}:{member.port}" if member.host else "",
        slots_owned=len(fleet_map.slots_of(member.member_id)),
        is_this_process=member.member_id == own_member_id,
        is_leaving=member.is_leaving,
        problem=member.refusal or "",
    )


def _slots_view(standing: FleetStanding, states: list[SlotState]) -> FleetSlotsView:
    return FleetSlotsView(
        count=len(states),
        owned=sum(state.is_owned for state in states),
        ready=states.count(SlotState.READY),
        loading=states.count(SlotState.CLAIMING) + states.count(SlotState.LOADING),
        wanted=_wanted(standing),
        unassigned=states.count(SlotState.UNASSIGNED),
    )


def _troubled_slots(statuses: Iterable[SlotStatus]) -> tuple[TroubledSlotView, ...]:
    troubled = [status for status in statuses if not status.state.is_well]
    troubled.sort(key=lambda status: (status.state is not SlotState.STOPPED, status.partition))
    told = troubled[:_MOST_TROUBLED_SLOTS]
    return tuple(TroubledSlotView(status.partition, status.state, status.reason) for status in told)


def _wanted(standing: FleetStanding) -> int:
    fleet_map = standing.fleet_map
    if fleet_map is None:
        return 0
    to_come = (fleet_map.members[place].member_id for place in fleet_map.next_owners if place != NOBODY)
    return sum(member_id == standing.member_id for member_id in to_come)
