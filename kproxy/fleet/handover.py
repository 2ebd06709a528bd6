"""`Handover`: the slots that a member was asked to give up, and those that it gave up and has not told of yet."""


class Handover:
    """One member's. Slots that are slow hold up those that were given up for a while only."""

    __slots__ = ("_patience_ends_ms", "asked", "given_up")

    def __init__(self) -> None:
        self.asked: frozenset[int] = frozenset()
        """What is still to be given up."""
        self.given_up: frozenset[int] = frozenset()
        """What was given up since the leader was last told what is owned."""
        self._patience_ends_ms = 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be given up."""
        return not self.asked

    @property
    def gives_up_waiting_at_ms(self) -> int | None:
        """When what was given up waits no longer for the rest; None when nothing waits."""
        return self._patience_ends_ms if self.asked and self.given_up else None

    def ask(self, slots: frozenset[int], *, patience_ends_ms: int) -> None:
        """Be asked for `slots`, by a new map; what an earlier one asked for counts no more."""
        self.asked, self._patience_ends_ms = slots, patience_ends_ms

    def give_up(self, slots: frozenset[int]) -> None:
        """Have given up `slots`."""
        self.asked -= slots
        self.given_up |= slots

    def lose(self, slots: frozenset[int]) -> None:
        """Do not have `slots` any more: there is nothing to give up."""
        self.asked -= slots

    def tell(self) -> None:
        """Have told the leader."""
        self.given_up = frozenset()
