"""Which offsets: those of a log partition to be read, and those where a consumed topic ends."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class LogRange:
    """Offsets of a log partition, from `first_offset` to, not including, `end_offset`. There may be holes."""

    partition: int
    first_offset: int
    end_offset: int

    @property
    def length(self) -> int:
        """How many offsets there are; records may be fewer."""
        return max(0, self.end_offset - self.first_offset)

    def within(self, first_offset: int, end_offset: int) -> "LogRange":
        """Return what of the range lies in `first_offset` to, not including, `end_offset`; it may be empty."""
        first = max(self.first_offset, first_offset)
        return LogRange(self.partition, first, max(first, min(self.end_offset, end_offset)))

    def parts(self, most: int) -> "list[LogRange]":
        """Return the range in parts of at most `most` offsets."""
        starts = range(self.first_offset, self.end_offset, most)
        return [LogRange(self.partition, start, min(start + most, self.end_offset)) for start in starts]


@dataclass(frozen=True, slots=True)
class Leaderless:
    """A partition that nobody can read now: the cluster names no leader for it.

    `down` are the node ids of those brokers with a replica of it that the cluster does not name either.
    """

    partition: int
    down: tuple[int, ...] = ()


def leaderless_text(partitions: Sequence[Leaderless]) -> str:
    """Return which partitions have no leader, at least one, and which brokers are down."""
    numbers = ", ".join(str(each.partition) for each in partitions)
    down = sorted({node_id for each in partitions for node_id in each.down})
    said = (
        f"partition {numbers} has no leader"
        if len(partitions) == 1
        else f"partitions {numbers} have no leader"
    )
    if not down:
        return said
    brokers = ", ".join(map(str, down))
    return f"{said} ({f'broker {brokers} is' if len(down) == 1 else f'brokers {brokers} are'} down)"


@dataclass(frozen=True, slots=True)
class TopicEnd:
    """Where a partition of a consumed topic ended: when it was asked, and at an earlier time. Both are exclusive."""

    end_offset: int
    earlier_end_offset: int


PartitionEnd = TopicEnd | Leaderless
"""What the cluster says of the end of a partition of a consumed topic: without a leader it does not say it."""
