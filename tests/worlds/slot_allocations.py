"""A fleet as far as slots see it: each process owns everything, under maps that follow each other."""

from itertools import count
from typing import Final

from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.net.state_log.slots import StateSlots
from kproxy.statelog.claims import NO_MAP_EPOCH

FLEET: Final = "__kproxy_share_state"
"""The group of the fleet."""

EPOCH: Final = 1_000_000
"""Of a map that is newer than those of processes."""

OWN_TOKEN: Final = "token of this one"

MYSELF: Final = FleetMember("a", OWN_TOKEN, "kproxy at host-1", "127.0.0.1", 1)
ANOTHER: Final = FleetMember("b", "token of another", "kproxy at host-2", "127.0.0.1", 2)

_EPOCHS: Final = count(1)


def map_with(*owners: FleetMember | None) -> FleetMap:
    """Return a map in which these own the slots: this process, another one, or nobody."""
    members = (MYSELF, ANOTHER)
    places = tuple(NOBODY if owner is None else members.index(owner) for owner in owners)
    return FleetMap(EPOCH, members, places, (NOBODY,) * len(owners))


def map_of(name: str, slot_count: int, epoch: int) -> FleetMap:
    """Return the map with which one process owns every slot."""
    member = FleetMember(f"id of {name}", f"token of {name}", name, "127.0.0.1", 1)
    return FleetMap(epoch, (member,), (0,) * slot_count, (NOBODY,) * slot_count)


class OwnsEverything:
    """Implements `Fleet`: its process owns every slot, until it hears of a newer map, which gives all to another one.

    Each one that is made knows a newer map than those before.
    """

    def __init__(self, fleet_group: str = FLEET) -> None:
        self.map_epoch = next(_EPOCHS)
        self.fleet_group = fleet_group
        self.seen_epoch = NO_MAP_EPOCH
        self.given_up: set[int] = set()
        self.has_lease = True
        self.joined: list[StateSlots] = []
        self.desertions = 0
        self._slots: StateSlots | None = None

    @property
    def is_overtaken(self) -> bool:
        """Whether there is a newer map."""
        return self.seen_epoch > self.map_epoch

    def may_serve(self, slot: int) -> bool:
        """Tell whether this process owns a slot."""
        return self.has_lease and not self.is_overtaken and slot not in self.given_up

    def saw_epoch(self, epoch: int) -> None:
        """Lose everything if this is newer than what it knows."""
        was_overtaken, self.seen_epoch = self.is_overtaken, max(self.seen_epoch, epoch)
        if self.is_overtaken and not was_overtaken and self._slots is not None:
            everything = frozenset(range(len(self._slots)))
            self._slots.slots_lost(everything, "the map gives them to others")
            self._slots.map_changed(map_of("another", len(self._slots), epoch), frozenset())

    def gave_up(self, slots: frozenset[int]) -> None:
        """Keep what was given up."""
        self.given_up |= slots

    async def join(self, slots: StateSlots, slot_count: int) -> None:
        """Give everything to this process at once."""
        self._slots = slots
        self.joined.append(slots)
        slots.map_changed(map_of("this one", slot_count, self.map_epoch), frozenset(range(slot_count)))

    def desert(self) -> None:
        """Keep that it left."""
        self.desertions += 1
        self._slots = None
