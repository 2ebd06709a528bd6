"""`UncheckedGroupNamespace`: the port `GroupNamespace`, which finds every id free but those it was told."""

from collections.abc import Collection, Mapping, Sequence

from kproxy.errors import BrokerUnavailable


class UncheckedGroupNamespace:
    """A `GroupNamespace` that does not look. `coordinator_id` coordinates every group; None: nobody says who does.

    Groups of another type are `foreign_ids`; None: nobody says which there are.
    """

    def __init__(self) -> None:
        self.coordinator_id: int | None = None
        self.sought: list[str] = []
        """The groups whose coordinators were asked for."""
        self.foreign_ids: set[str] | None = set()
        self.looked_up: list[str] = []
        """The ids that were asked about."""

    async def is_foreign(self, group_id: str) -> bool:
        """Tell whether it was told so."""
        self.looked_up.append(group_id)
        if self.foreign_ids is None:
            raise BrokerUnavailable("the in-memory cluster was not told which groups there are")
        return group_id in self.foreign_ids

    async def foreign_among(self, group_ids: Collection[str]) -> frozenset[str]:
        """Return those of which it was told so."""
        return frozenset([group_id for group_id in group_ids if await self.is_foreign(group_id)])

    async def coordinators_of(self, group_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the one coordinator of each."""
        self.sought.extend(group_ids)
        if self.coordinator_id is None:
            raise BrokerUnavailable("the in-memory cluster was not told who coordinates groups")
        return dict.fromkeys(group_ids, self.coordinator_id)
