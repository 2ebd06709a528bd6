"""`UncheckedGroupNamespace`: the port `GroupNamespace`, which finds every id free."""

from collections.abc import Mapping, Sequence

from kproxy.errors import BrokerUnavailable


class UncheckedGroupNamespace:
    """A `GroupNamespace` that does not look. `coordinator_id` coordinates every group; None: nobody says who does."""

    def __init__(self) -> None:
        self.coordinator_id: int | None = None
        self.sought: list[str] = []
        """The groups whose coordinators were asked for."""

    async def is_foreign(self, group_id: str) -> bool:  # noqa: ARG002  # the answer is the same for all
        """Say no."""
        return False

    async def coordinators_of(self, group_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the one coordinator of each."""
        self.sought.extend(group_ids)
        if self.coordinator_id is None:
            raise BrokerUnavailable("the in-memory cluster was not told who coordinates groups")
        return dict.fromkeys(group_ids, self.coordinator_id)
