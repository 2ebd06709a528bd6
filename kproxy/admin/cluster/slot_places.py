"""On which brokers of the backing cluster the slots of the state log are. Pure.

A slot is a partition of each of two topics. While one of them has no leader nothing can be written to the slot:
heartbeats, acknowledgements and what else has to be durable wait for it, or are refused.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.wording import counted

_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class PartitionPlace:
    """A partition of the state log as the cluster told of it last: `leader` is None while there is none.

    `down` are brokers with a replica of it that is offline. Nothing is known of one that is not `is_known`.
    """

    topic: str
    partition: int
    leader: int | None
    down: Sequence[int] = ()
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class SlotPlaceView:
    """Where a slot is: the node ids of its two leaders, None while there is none, or none is known.

    `unwritable` says why nothing can be written to the slot, and is empty while it can, as far as is known;
    `down_brokers` are those to be started again then.
    """

    leader: int | None = None
    groups_leader: int | None = None
    unwritable: str = ""
    down_brokers: Sequence[int] = ()


UNKNOWN_PLACE: Final = SlotPlaceView()

SlotPlaces = Callable[[int], SlotPlaceView]
"""Says where a slot is. Never waits."""


def slot_place(state: PartitionPlace, groups: PartitionPlace) -> SlotPlaceView:
    """Return where a slot is."""
    lost = [each for each in (state, groups) if each.leader is None and each.is_known]
    down = sorted({node_id for each in lost for node_id in each.down})
    unwritable = ""
    if lost:
        names = " and ".join(f"{each.topic}-{each.partition}" for each in lost)
        verb = "has" if len(lost) == 1 else "have"
        unwritable = f"{names} {verb} no leader" + (f": {brokers_down(down)}" if down else "")
    return SlotPlaceView(state.leader, groups.leader, unwritable, down)


def brokers_down(node_ids: Sequence[int]) -> str:
    """Return that brokers, at least one, are down."""
    if len(node_ids) == 1:
        return f"broker {node_ids[0]} is down"
    return f"brokers {', '.join(map(str, node_ids))} are down"


def unwritable_slots(places: Mapping[int, SlotPlaceView]) -> str:
    """Return which slots cannot be written to, and which brokers are down; empty if all can."""
    lost = {number: place for number, place in sorted(places.items()) if place.unwritable}
    if not lost:
        return ""
    down = sorted({node_id for place in lost.values() for node_id in place.down_brokers})
    why = f": {brokers_down(down)}" if down else ""
    return (
        f"{counted(len(lost), 'slot')} of {len(places)} cannot be written to{why}; "
        f"they have a partition without a leader: {_named(lost)}"
    )


def _named(numbers: Iterable[int]) -> str:
    each = list(numbers)
    more = f" and {len(each) - _MOST_NAMED} more" if len(each) > _MOST_NAMED else ""
    return ", ".join(map(str, each[:_MOST_NAMED])) + more
