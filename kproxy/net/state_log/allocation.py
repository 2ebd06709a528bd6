"""`SlotAllocation`: which slots this process may serve, as those who serve them ask; the fleet says so.

The fleet's map decides who claims a slot, and each slot's own last claim decides who owns it: the leaders refuse
whoever claimed before. A claim carries the epoch of the map that it was made under, and nobody claims over one of a
higher epoch. So a process that did not hear of a newer map stands back; and one whose claim was superseded by that of a
process that knew less claims again.
"""

from typing import Final, Protocol

from kproxy.errors import BrokerUnavailable, KproxyError
from kproxy.notation import LATEST_MS, iso_time
from kproxy.statelog.claims import NO_MAP_EPOCH, Claim

LEASE_ENDED: Final = "nothing was heard of the fleet's coordinator in time, so it may be another process's"

FACTS_SLOT: Final = 0
"""The slot in whose log stands what is true of all: the number of slots, and signs of life."""


class ClaimLost(KproxyError):
    """Another process claimed a slot under a newer map, or outran this one. Raised by `SlotClaims`.

    `claim` is what it claimed with; None where that is not known.
    """

    def __init__(self, detail: str, claim: Claim | None = None) -> None:
        super().__init__(detail, claim)
        self.claim = claim
        self._detail = detail

    @property
    def map_epoch(self) -> int:
        """The epoch of the map that the other process claimed under; -1 where that is not known."""
        return NO_MAP_EPOCH if self.claim is None else self.claim.map_epoch

    def __str__(self) -> str:
        return self._detail


class SlotAllocation(Protocol):
    """What this process may serve. Any method may lead to slots being taken and given up, before it returns."""

    @property
    def map_epoch(self) -> int:
        """The epoch of the newest map: claims carry it."""
        ...

    @property
    def fleet_group(self) -> str:
        """The fleet that this process belongs to: claims name it."""
        ...

    def may_serve(self, slot: int) -> bool:
        """Tell whether this process, and so no other one, may serve a slot now. To be asked when it does."""
        ...

    def saw_epoch(self, epoch: int) -> None:
        """Know of a claim of a higher epoch: there is a newer map, or has been."""
        ...

    def gave_up(self, slots: frozenset[int]) -> None:
        """Know that slots which were to be given up are served here no more."""
        ...


class ClaimRight:
    """The right to claim one slot, and to serve it after it was claimed and loaded."""

    def __init__(self, allocation: SlotAllocation) -> None:
        self._allocation = allocation
        self._outranked_by = NO_MAP_EPOCH

    def map_epoch(self, slot: int) -> int:
        """Return the epoch to claim a slot with.

        Raises BrokerUnavailable while the map is older than a claim in the log, and when the lease has ended.
        """
        map_epoch = self._allocation.map_epoch
        if map_epoch < self._outranked_by:
            raise BrokerUnavailable(
                f"it was claimed under map {self._outranked_by}, and this process knows only map {map_epoch}"
            )
        if not self._allocation.may_serve(slot):
            raise BrokerUnavailable(LEASE_ENDED)
        return map_epoch

    def require(self, slot: int, highest: Claim | None, map_epoch: int) -> None:
        """See whether a slot that was claimed under the map of `map_epoch` may be served.

        Args:
            slot: which one.
            highest: the claim of the highest map epoch that its log has.
            map_epoch: what it was claimed with.

        Raises:
            ClaimLost: somebody had claimed it under a newer map.
            BrokerUnavailable: the lease has ended meanwhile.
        """
        if highest is not None and highest.map_epoch > map_epoch:
            raise ClaimLost(
                f"{highest.owner!r} claimed it under map {highest.map_epoch}, and this process's is {map_epoch}",
                highest,
            )
        if not self._allocation.may_serve(slot):
            raise BrokerUnavailable(LEASE_ENDED)

    def stand_back(self, lost: ClaimLost) -> str:
        """Let the fleet know that there is a newer map; claim nothing before it is known.

        Returns why the slot is not to be claimed again at all; empty when it is. Another fleet minds no maps of ours.
        """
        claim = lost.claim
        if claim is None:
            return ""
        if claim.fleet_group != self._allocation.fleet_group:
            return f"{lost}, for the fleet {claim.fleet_group!r}; {_remedy(claim.map_epoch)}"
        self._outranked_by = claim.map_epoch
        self._allocation.saw_epoch(claim.map_epoch)
        return ""


def _remedy(map_epoch: int) -> str:
    """Return what to do when another fleet claimed a slot under the map of `map_epoch`, which its wall clock dates."""
    passed_at = iso_time(min(map_epoch, LATEST_MS))
    return (
        "give both one kproxy.fleet.group, or the other one topics of its own: then restart this kproxy, when its "
        f"clock is past {passed_at}, for claims follow wall clocks"
    )
