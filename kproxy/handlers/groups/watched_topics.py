"""Which topics share groups are about: what changes in the cluster is looked for among them."""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from kproxy.handlers.live.pauses import let_other_looks_go_on
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.group_topics import subscription
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group import ShareGroup

MOST_MISSING: Final = 1_000
"""So many subscribed topics that do not exist are looked for each time; of more so many, one after the other."""

MOST_COUNTED: Final = 12_500
"""Names of groups with other topics than the last time, or that are gone, that are counted in one turn, some 10 ms."""

MOST_LOOKED_AT: Final = 2_000
"""Groups that are new, gone, or changed that are looked at in one turn, some 10 ms: very many are after a restart."""


class WantedNames(NamedTuple):
    """What to look for this time."""

    lasting: frozenset[str]
    """The same object as the last time when they are the same."""
    in_passing: Sequence[str]
    """Others that may exist by now, another time others again."""


class _NamesOfGroup(NamedTuple):
    existing: frozenset[str]
    missing: frozenset[str]


_NOTHING: Final[frozenset[str]] = frozenset()


class WatchedTopics:
    """The names of all topics that some member subscribed to, or of which some group has durable state.

    They are counted by name: what a group costs, in time and memory, is what is new about it. Clients may name very
    many topics that do not exist: what a look costs is bounded by those that do.
    """

    __slots__ = ("_coordinator", "_existing", "_has_changed", "_missing", "_names", "_of_groups")

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator
        self._of_groups: dict[GroupId, _NamesOfGroup] = {}
        self._existing: Counter[str] = Counter()
        self._missing: OrderedDict[str, int] = OrderedDict()  # what was looked for longest ago first
        self._has_changed = False
        self._names = _NOTHING

    async def wanted(self) -> WantedNames | None:
        """Return what to look for now, None when there is nothing."""
        names = await self.names()
        in_passing = self._next_missing() if len(self._missing) > MOST_MISSING else ()
        return WantedNames(names, in_passing) if names or in_passing else None

    async def names(self) -> frozenset[str]:
        """Return those that are looked for each time: all that exist or have state, and the missing ones if few.

        Every group counts as it is now, or becomes meanwhile; where very many changed, others have turns in between.
        The same object as the last time when they are the same. Costs nothing for groups that did not change.
        """
        changed = self._coordinator.known.changed
        left = len(changed)
        while changed and (left := left - self._look_at_some()) > 0:
            await let_other_looks_go_on()
        if self._has_changed:
            self._has_changed = False
            few = self._missing if len(self._missing) <= MOST_MISSING else ()
            names = frozenset(self._existing).union(few)
            self._names = self._names if names == self._names else names
        return self._names

    def _look_at_some(self) -> int:
        """Look at some groups that changed, first at those that did so first; return at how many."""
        changed, room = self._coordinator.known.changed, MOST_COUNTED
        some = [*islice(changed, MOST_LOOKED_AT)]
        for number, group_id in enumerate(some):
            if room <= 0:
                return number
            del changed[group_id]
            room -= self._look_at(group_id)
        return len(some)

    def _look_at(self, group_id: GroupId) -> int:
        """Count what is different of a group, and return how many names that was."""
        known, seen = self._coordinator.known, self._of_groups.pop(group_id, None)
        group = known.get(group_id)
        if group is None:  # or a picture, which is among the changes again when a group is made of it
            return self._count(seen, None)
        names = self._of_groups[group.group_id] = _names_of(group)
        return self._count(seen, names)

    def _next_missing(self) -> Sequence[str]:
        names = [*islice(self._missing, MOST_MISSING)]
        for name in names:
            self._missing.move_to_end(name)
        return names

    def _count(self, before: _NamesOfGroup | None, after: _NamesOfGroup | None) -> int:
        """Count what is different, and return how many names that was."""
        existing_before, missing_before = (
            (before.existing, before.missing) if before else (_NOTHING, _NOTHING)
        )
        existing, missing = (after.existing, after.missing) if after else (_NOTHING, _NOTHING)
        return self._count_in(self._existing, existing_before, existing) + self._count_in(
            self._missing, missing_before, missing
        )

    def _count_in(self, counts: dict[str, int], before: frozenset[str], after: frozenset[str]) -> int:
        if before is after:
            return 0
        begun, ended = after - before, before - after
        for name in begun:
            counts[name] = counts.get(name, 0) + 1
            self._has_changed = True
        for name in ended:
            counts[name] -= 1
            if not counts[name]:
                del counts[name]
                self._has_changed = True
        return len(begun) + len(ended)


def _names_of(group: ShareGroup) -> _NamesOfGroup:
    """Return the names of one group: its own set wherever there is no other."""
    subscribed = group.topics.subscribed_names
    existing = frozenset(group.topics.known).union(group.state_topic_names.values())
    missing = subscribed - existing if existing else subscribed
    return _NamesOfGroup(subscription(existing), subscription(missing))
