"""`UncheckedGroupNamespace`: the port `GroupNamespace`, which finds every id free."""


class UncheckedGroupNamespace:
    """A `GroupNamespace` that does not look."""

    async def is_foreign(self, group_id: str) -> bool:  # noqa: ARG002  # the answer is the same for all
        """Say no."""
        return False
