"""What a membership tells those who serve slots."""

from dataclasses import dataclass
from typing import TypeAlias

from kproxy.fleet.fleet_map import FleetMap


@dataclass(frozen=True, slots=True)
class MapChanged:
    """There is a new map. `gained` slots are this process's from now on; it claims, loads and serves them."""

    fleet_map: FleetMap
    gained: frozenset[int]


@dataclass(frozen=True, slots=True)
class GiveUp:
    """These slots are to go to another member: stop serving each, and then say so (`Membership.gave_up`).

    They are this process's until then, as far as its lease reaches.
    """

    slots: frozenset[int]


@dataclass(frozen=True, slots=True)
class SlotsLost:
    """These slots are not this process's any more: it stops serving them at once, without a last word in their log."""

    slots: frozenset[int]
    reason: str


FleetEvent: TypeAlias = MapChanged | GiveUp | SlotsLost
