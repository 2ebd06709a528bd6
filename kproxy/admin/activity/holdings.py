"""How much is in flight of every share group, and how long the oldest lock is held."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.turns import in_turns
from kproxy.share.identifiers import GroupId
from kproxy.share.share_partition import SharePartition

AT_ONCE: Final = 100
"""Share-partitions that are looked at in a row."""


@dataclass(slots=True)
class Holding:
    """What is in flight of a group: offsets from start to end offset, over all its live share-partitions.

    `oldest_lock_ms` is how long ago the first lock of those that stand was acquired, or renewed; None without one.
    """

    in_flight_count: int = 0
    oldest_lock_ms: int | None = None


NOTHING_HELD: Final = Holding()


async def holdings(
    directory: LiveSharePartitions, *, now_ms: int, only: GroupId | None = None
) -> Mapping[GroupId, Holding]:
    """Return what is in flight by group, of those with live share-partitions; `now_ms` is of the locks' clock.

    With `only`, of that group alone.
    """
    found: dict[GroupId, Holding] = {}
    # The directory is no mapping.
    async for key in in_turns(tuple(directory.keys()), at_once=AT_ONCE):
        share_partition = directory.find(key) if only in {None, key.group_id} else None
        if share_partition is None or share_partition.is_fenced:
            continue
        holding = found.setdefault(key.group_id, Holding())
        holding.in_flight_count += share_partition.in_flight_count
        held_ms = _oldest_lock_ms(share_partition, now_ms)
        if held_ms is not None:
            holding.oldest_lock_ms = max(held_ms, holding.oldest_lock_ms or 0)
    return found


def _oldest_lock_ms(share_partition: SharePartition, now_ms: int) -> int | None:
    if share_partition.next_deadline_ms() is None:
        return None
    taken = [
        run.lock_deadline_ms - run.lock_duration_ms
        for run in share_partition.view().ranges
        if run.lock_deadline_ms is not None and run.lock_duration_ms is not None
    ]
    return max(0, now_ms - min(taken)) if taken else None
