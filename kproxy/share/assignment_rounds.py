"""When a share group looks at its assignment: in rounds, each for everything that changed shortly before.

Members that join, leave or are lost within the assignment delay share one round. The target assignment is computed
in a round, though not more often than the assignment interval; and members are called only to be told that they
lose partitions no more often than that.
"""

from dataclasses import dataclass

from kproxy.share.limits import GroupLimits


@dataclass(slots=True)
class AssignmentRounds:
    """The times of one group's rounds (milliseconds of whoever passes `now_ms`)."""

    count: int = 0
    """Rounds held so far."""
    changed_ms: int | None = None
    """When the first change came that no round has looked at; None when there is none."""
    computed_ms: int | None = None
    """When a target assignment was computed last; None when the next one need not wait."""
    taken_ms: int | None = None
    """When members were last called only because they lose partitions."""
    is_under_way: bool = False
    """Whether a round has begun that does not count yet: who joins now waits for the one after it."""
    has_losers: bool = False
    """Whether somebody is yet to be called for that."""

    def note_change(self, now_ms: int) -> None:
        """Ask for a round."""
        if self.changed_ms is None:
            self.changed_ms = now_ms

    def may_compute(self, limits: GroupLimits, now_ms: int) -> bool:
        """Whether the assignment interval is over."""
        return self.computed_ms is None or now_ms - self.computed_ms >= limits.assignment_interval_ms

    def take(self, limits: GroupLimits, now_ms: int, *, has_losers: bool) -> bool:
        """Whether members that only lose partitions, if it `has_losers`, are called now; else that asks for a round."""
        is_due = self.taken_ms is None or now_ms - self.taken_ms >= limits.assignment_interval_ms
        self.has_losers = has_losers and not is_due
        if has_losers and is_due:
            self.taken_ms = now_ms
        return has_losers and is_due

    def next_ms(self, limits: GroupLimits, *, is_stale: bool) -> int | None:
        """Return when the next round is due, None when nothing asks for one.

        `is_stale` says that the target assignment is behind the group.
        """
        due_ms = []
        if self.changed_ms is not None:
            due_ms.append(self.changed_ms + limits.assignment_delay_ms)
        elif is_stale:
            due_ms.append(0 if self.computed_ms is None else self.computed_ms + limits.assignment_interval_ms)
        if self.has_losers:
            due_ms.append((self.taken_ms or 0) + limits.assignment_interval_ms)
        return min(due_ms, default=None)
