"""`SlotMoves`: when each slot last went from one member to another, as the maps that a member heard of say."""

from kproxy.fleet.fleet_map import FleetMap


class SlotMoves:
    """Learns from maps in the order in which they were made; of what was before the first one it knows nothing."""

    __slots__ = ("_moved_at", "_owners")

    def __init__(self) -> None:
        self._owners: dict[int, str] = {}
        self._moved_at: dict[int, int] = {}

    def note(self, fleet_map: FleetMap) -> None:
        """Know of a newer map. A slot without an owner is on its way, and has not moved yet."""
        for slot in range(fleet_map.slot_count):
            owner = fleet_map.owner_of(slot)
            if owner is None:
                continue
            if self._owners.get(slot, owner.member_id) != owner.member_id:
                self._moved_at[slot] = fleet_map.epoch
            self._owners[slot] = owner.member_id

    def moved_at(self, slot: int) -> int:
        """Return the epoch of the map by which a slot came to its owner; -1 where it has not moved."""
        return self._moved_at.get(slot, -1)
