"""Fleets whose maps a test chooses, and tells whom it likes when it likes. No coordinator keeps the members apart."""

from collections.abc import Sequence

from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.net.state_log.slots import StateSlots
from kproxy.statelog.claims import NO_MAP_EPOCH
from tests.worlds.slot_allocations import FLEET


class FleetScript:
    """The newest map, and the members who hear of it when the test says so. Member n is the n-th that was added."""

    def __init__(self, slot_count: int) -> None:
        self.members: list[ScriptedMember] = []
        self.maps = [FleetMap(0, (), (NOBODY,) * slot_count, (NOBODY,) * slot_count)]

    @property
    def newest(self) -> FleetMap:
        """The last map that was made."""
        return self.maps[-1]

    def add(self) -> "ScriptedMember":
        """Return another member."""
        self.members.append(ScriptedMember(self, len(self.members)))
        return self.members[-1]

    def give(self, owners: Sequence[int]) -> None:
        """Make a newer map, in which these members, or NOBODY, own the slots; nobody hears of it yet."""
        members = tuple(
            FleetMember(f"id {n}", f"token {n}", f"process {n}", "127.0.0.1", 1)
            for n in range(len(self.members))
        )
        nobody = (NOBODY,) * len(owners)
        self.maps.append(FleetMap(self.newest.epoch + 1, members, tuple(owners), nobody))

    def give_again(self) -> bool:
        """Make another map if somebody does not own what the newest one gives it; tell whether that was so."""
        is_at_odds = any(
            slot not in self.members[owner].owned for slot, owner in enumerate(self.newest.owners)
        )
        if is_at_odds:
            self.give(self.newest.owners)
        return is_at_odds


class ScriptedMember:
    """Implements `Fleet` for one process."""

    def __init__(self, script: FleetScript, number: int) -> None:
        self.map_epoch = NO_MAP_EPOCH
        self.fleet_group = FLEET
        self.owned: frozenset[int] = frozenset()
        self.has_lease = True
        self._script = script
        self._number = number
        self._slots: StateSlots | None = None

    # ------------------------------------------------ what the test does

    def hear(self, lag: int = 0) -> None:
        """Hear of the newest map, or one that is so many maps older, and have a lease again."""
        fleet_map = self._script.maps[max(0, len(self._script.maps) - 1 - lag)]
        if self._slots is None or fleet_map.epoch <= self.map_epoch:
            return
        mine = frozenset(slot for slot, owner in enumerate(fleet_map.owners) if owner == self._number)
        lost, gained = self.owned - mine, mine - self.owned
        self.owned, self.map_epoch, self.has_lease = mine, fleet_map.epoch, True
        self._slots.slots_lost(lost, "the map gives them to others")
        self._slots.map_changed(fleet_map, gained)

    def stand_still(self) -> None:
        """Let the lease end; whoever stands still does not hear of it."""
        self.has_lease = False

    def go_on(self) -> None:
        """See that the lease has ended."""
        if not self.has_lease and self._slots is not None:
            lost, self.owned = self.owned, frozenset()
            self._slots.slots_lost(lost, "nothing was heard of the group's coordinator in time")

    def give_up(self, slot: int) -> None:
        """Be asked to give up a slot."""
        if slot in self.owned and self._slots is not None:
            self._slots.give_up(frozenset({slot}))

    # ------------------------------------------------ Fleet

    def may_serve(self, slot: int) -> bool:
        """Tell whether the last map that was heard gives the slot to this member, and its lease lasts."""
        return self.has_lease and slot in self.owned

    def saw_epoch(self, epoch: int) -> None:
        """Hear that there is a newer map; of the map itself it hears when the test says so."""
        assert epoch <= self._script.newest.epoch

    def gave_up(self, slots: frozenset[int]) -> None:
        """Own them no more."""
        assert slots <= self.owned or not self.has_lease, "what was lost is given up by nobody"
        self.owned -= slots

    async def join(self, slots: StateSlots, slot_count: int) -> None:
        """Hear of what is newest."""
        assert slot_count == self._script.newest.slot_count
        self._slots = slots
        self.hear()

    def desert(self) -> None:
        """Hear nothing any more."""
        self._slots = None
