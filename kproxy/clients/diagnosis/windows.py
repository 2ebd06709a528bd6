"""What it means that the window of a share-partition is full. Pure.

New records are acquired as long as fewer offsets are in flight than `share.partition.max.record.locks`; the record
batch in which the limit is reached is acquired whole. In a full window what is Available is delivered all the same.
"""

from kproxy.clients.admin_port import Item
from kproxy.wording import counted

LIMIT_KEY = "share.partition.max.record.locks"


def window_text(share_partition: Item) -> str:
    """Return what a full window is and what it means for the records behind it; empty where it is not full."""
    count, limit = share_partition["inFlightCount"], share_partition.get("inFlightLimit")
    if limit is None or count < limit:
        return ""
    limit_then = share_partition.get("inFlightLimitAtGrowth")
    return _fullness(count, limit, limit_then) + _behind(share_partition, freed=count - limit + 1)


def _fullness(count: int, limit: int, limit_then: int | None) -> str:
    if count == limit:
        return f"full: {counted(count, 'record')} in flight, the limit of the group ({LIMIT_KEY}) is {limit}"
    return (
        f"overfull: {counted(count, 'record')} in flight, the limit of the group ({LIMIT_KEY}) is {limit}. "
        f"{_why_overfull(count, limit, limit_then)}"
    )


def _why_overfull(count: int, limit: int, limit_then: int | None) -> str:
    """Return which of both it was; `limit_then` is the limit when the last of them were acquired, None if unknown."""
    if limit_then is None:
        return (
            "Either the record batch in which the limit was reached is larger than the room that was left, "
            "or the limit was higher then: which of both is not in the state log, from where they were loaded"
        )
    if limit_then <= limit:
        return (
            "The record batch in which the limit was reached is larger than the room that was left: "
            "it is delivered whole"
        )
    whole = ", and the record batch in which it was reached was delivered whole" if count > limit_then else ""
    return f"The limit was {limit_then} when the last of them were acquired{whole}"


def _behind(share_partition: Item, *, freed: int) -> str:
    """Return what is behind the window; `freed` records must be done with before any of it can be had."""
    end_offset, log_end_offset = share_partition["endOffset"], share_partition["logEndOffset"]
    condition = (
        "before the first one is done with" if freed == 1 else f"before the first {freed} are done with"
    )
    if end_offset is None or log_end_offset is None:
        return f". What may be behind them is not delivered {condition}"
    waiting = log_end_offset - end_offset - 1
    if waiting <= 0:
        return f". Nothing was produced behind them so far (the log ends at offset {log_end_offset})"
    return f". The {counted(waiting, 'record')} behind offset {end_offset} are not delivered {condition}"
