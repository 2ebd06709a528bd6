"""`GroupOwners`: which process of the fleet serves a share group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class Peer:
    """Another kproxy process of the fleet. `token` tells it from every other; `host` and `port` are internal."""

    token: str
    name: str
    host: str
    port: int


_NOBODY: Final[Mapping[str, Peer]] = {}


class GroupOwners(Protocol):
    """Who serves which group, by the newest map. Asked for each request, so it has to be quick."""

    def peer_of_group(self, group_id: str) -> Peer | None:
        """Return the other process that serves a group; None when this one does, or nobody for the moment."""
        ...

    def peers(self) -> Sequence[Peer]:
        """Return every other process that serves any group."""
        ...


class NoFleet:
    """A `GroupOwners` for a process that is alone, or in no fleet yet."""

    def peer_of_group(self, group_id: str) -> Peer | None:
        """Return None: nobody else serves it."""
        return _NOBODY.get(group_id)

    def peers(self) -> Sequence[Peer]:
        """Return nobody."""
        return ()
