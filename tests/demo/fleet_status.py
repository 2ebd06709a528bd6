"""Which kproxies there are, which slots of the state log each serves, and behind which of them each member is. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition

NOWHERE: Final = "none"
"""Where a member is that has no connection to any kproxy at the moment."""


@dataclass(frozen=True, slots=True)
class KproxyStatus:
    """One kproxy: whether its admin port answers, and the slots of the state log that it serves."""

    name: str
    is_up: bool = False
    slots: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """All of them, as of `at`, in seconds of the monotonic clock. `slot_count` is 0 as long as it is not known."""

    at: float
    slot_count: int
    kproxies: Sequence[KproxyStatus]
    places: Mapping[str, str] = field(default_factory=dict)
    """Each member, with the name of the kproxy that it is behind, or `NOWHERE`."""

    def server_of(self, group: str) -> str | None:
        """The name of the kproxy that serves a group; None if none does at the moment."""
        if not self.slot_count:
            return None
        slot = group_partition(GroupId(group), self.slot_count)
        return next((kproxy.name for kproxy in self.kproxies if slot in kproxy.slots), None)

    @property
    def is_whole(self) -> bool:
        """Whether all are up and every slot is served, by each as many as by every other one, or one more."""
        counts = [len(kproxy.slots) for kproxy in self.kproxies]
        is_even = max(counts) - min(counts) <= 1
        return bool(self.slot_count) and sum(counts) == self.slot_count and is_even and self._are_all_up

    @property
    def _are_all_up(self) -> bool:
        return all(kproxy.is_up for kproxy in self.kproxies)

    @property
    def is_everybody_somewhere(self) -> bool:
        """Whether every member is behind some kproxy."""
        return bool(self.places) and NOWHERE not in self.places.values()

    def members_behind(self, kproxy: str) -> list[str]:
        """The members that are connected to a kproxy."""
        return [member for member, place in self.places.items() if place == kproxy]

    @property
    def slots_in_words(self) -> str:
        """How many slots each serves, in the order of the kproxies."""
        return " + ".join(str(len(kproxy.slots)) for kproxy in self.kproxies)

    @property
    def places_in_words(self) -> str:
        """Behind which kproxy each member is."""
        return ", ".join(f"{member} behind {place}" for member, place in self.places.items())
