"""On which brokers the state of share groups is, and which groups a broker that is down holds up. Pure.

The state of a group is in one slot of the state log. While a partition of the slot has no leader nothing of the group
can be made durable.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kproxy.clients.admin_port import Item
from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from kproxy.wording import counted

_MOST_NAMED: Final = 5


def slot_of(group_id: str, slots: Sequence[Item]) -> Item | None:
    """Return the slot that has the state of a group, of all `slots` of the state log; None where they are not known."""
    if not slots:
        return None
    number = group_partition(GroupId(group_id), len(slots))
    return next((slot for slot in slots if slot["partition"] == number), None)


def unwritable_text(slot: Item | None) -> str:
    """Return that nothing of a group can be written, and why; empty while it can, as far as is known."""
    if slot is None or not slot.get("unwritable"):
        return ""
    return (
        f"its state cannot be written (slot {slot['partition']} of the state log): {slot['unwritable']}; "
        f"acknowledgements wait or are refused until {_until(slot)}"
    )


def held_up_text(group_ids: Iterable[str], slots: Sequence[Item]) -> str:
    """Return which groups cannot be written of, of those of `group_ids`, and why; empty where there are none."""
    lost = {slot["partition"]: slot for slot in slots if slot.get("unwritable")}
    if not lost:
        return ""
    down = sorted({node_id for slot in lost.values() for node_id in slot.get("downBrokers") or ()})
    brokers = ", ".join(map(str, down))
    who = f"{'broker' if len(down) == 1 else 'brokers'} {brokers} down: " if down else ""
    number = f"{counted(len(lost), 'slot')} of {len(slots)} of the state log cannot be written to"
    groups = [each for each in group_ids if group_partition(GroupId(each), len(slots)) in lost]
    return f"{who}{number}, and so {_named(groups)}: kproxy brokers tells since when"


def _until(slot: Item) -> str:
    down = slot.get("downBrokers") or ()
    if not down:
        return "there is one"
    numbers = ", ".join(map(str, down))
    return f"broker {numbers} is back" if len(down) == 1 else f"brokers {numbers} are back"


def _named(groups: Sequence[str]) -> str:
    if not groups:
        return "no share group that is known here"
    more = f" and {len(groups) - _MOST_NAMED} more" if len(groups) > _MOST_NAMED else ""
    noun = "share group" if len(groups) == 1 else "share groups"
    return f"{noun} {', '.join(groups[:_MOST_NAMED])}{more}"
