"""`FleetVitals`: what people, probes and Prometheus are told of this process as a member of its fleet."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from kproxy.admin.fleet_views import FleetStanding, FleetView, SlotMovesView, fleet_view, members_by_state
from kproxy.fleet.member_state import MemberState
from kproxy.net.fleet.fleet_member import FleetMember
from kproxy.statelog.slot_status import SlotStatus
from kproxy.telemetry.metrics import Metrics

_MOVES: Final = "fleet_slot_moves"


class Fleet(Protocol):
    """This process's place in its fleet; `JoinedFleet`."""

    @property
    def fleet_group(self) -> str:
        """The group on the backing cluster."""
        ...

    @property
    def own_name(self) -> str:
        """What people call this process."""
        ...

    @property
    def map_epoch(self) -> int:
        """The epoch of the newest map; -1 before any."""
        ...

    @property
    def member(self) -> FleetMember | None:
        """This process as a member; None before there is a state log."""
        ...


class FleetVitals:
    """Asks the fleet, and changes nothing."""

    def __init__(self, fleet: Fleet, metrics: Metrics) -> None:
        self._fleet = fleet
        self._metrics = metrics

    def view(self, statuses: Sequence[SlotStatus]) -> FleetView:
        """Return what `/api/v1/status` shows; `statuses` are those of all slots."""
        taken, given_up, lost = (
            self._metrics.counted(_MOVES, change) for change in ("taken", "given_up", "lost")
        )
        return fleet_view(self._standing(), statuses, SlotMovesView(taken, given_up, lost))

    def problem(self) -> str:
        """Return why this process may serve no slots; empty while it may, and before there is a state log.

        A member that joins anew because others come and go serves meanwhile what it owns.
        """
        member = self._fleet.member
        if member is None or (member.lease_ms and member.membership.state is not MemberState.SETTLED):
            return ""
        return member.problem

    @property
    def other_count(self) -> int:
        """How many other processes are in the fleet, as far as is known."""
        fleet_map = self._standing().fleet_map
        return 0 if fleet_map is None else len(fleet_map.members) - 1

    def register_gauges(self, metrics: Metrics) -> None:
        """Let every scrape read from the fleet itself."""
        metrics.register_gauge("fleet_members", self._members)
        metrics.register_gauge("fleet_lease_seconds", lambda: self._standing().lease_ms / 1000)
        metrics.register_gauge("fleet_map_epoch", lambda: self._fleet.map_epoch)

    def _members(self) -> Mapping[tuple[str, ...], float]:
        return members_by_state(self._standing().fleet_map)

    def _standing(self) -> FleetStanding:
        fleet, member = self._fleet, self._fleet.member
        if member is None:
            return FleetStanding(fleet.fleet_group, fleet.own_name)
        return FleetStanding(
            group=fleet.fleet_group,
            name=fleet.own_name,
            member_id=member.membership.member_id,
            state=member.membership.state.value,
            problem=self.problem(),
            lease_ms=member.lease_ms,
            fleet_map=member.fleet_map,
        )
