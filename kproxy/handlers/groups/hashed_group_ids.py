"""Hashing the group ids of a request, or of a slot that is loaded, with the event loop free in between."""

from collections.abc import Iterable
from typing import Final

from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition

_CHARACTERS_OF_ONE: Final = 100
"""To hash so many takes 6 us; with MOST_AT_ONCE (`Pace`) of these a piece takes 3 ms."""


async def hash_in_turns(group_ids: Iterable[str]) -> None:
    """Hash `group_ids`, which is remembered: whoever looks for the slots of them after this does so in no time.

    Those of one request may have a million characters together, and are looked for again and again while it is served:
    to be called when it is known to name no more than it may. Those of a slot that is loaded may be looked for at once.
    """
    pace = Pace()
    for group_id in group_ids:
        group_partition(GroupId(group_id), 1)
        if pace.is_pause_due(1 + len(group_id) // _CHARACTERS_OF_ONE):
            await let_others_go_on()
