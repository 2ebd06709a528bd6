"""At which attempt records are, and what comes after it. Pure.

After the last attempt that `share.delivery.count.limit` allows a record is archived: unless it was accepted before, it
is never delivered again.
"""

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.spans import ends_text, span_text


def attempt_text(run: Item) -> str:
    """Return at which attempt records in flight are, and that it is the last one if it is.

    Of those that nobody holds it is said how many are over: the next fetch is one more.
    """
    if run["state"] == "Available":
        count, limit = run["deliveryCount"], run["deliveryCountLimit"]
        return f"{count} of {limit} attempts over" if count else f"attempt 1 of {limit} is to come"
    return _attempt(run["deliveryCount"], run["deliveryCountLimit"])


def is_last_attempt(run: Item) -> bool:
    """Tell whether records in flight are archived when their attempt ends, unless they are accepted."""
    return bool(run["deliveryCount"] >= run["deliveryCountLimit"])


def next_of_run(run: Item, *, now_ms: int | None = None) -> str:
    """Return what happens next to records in flight, if nobody does anything but fetch.

    `now_ms` is the moment of the answer that told of them, by the clock on the wall; None where nobody knows.
    """
    match run["state"]:
        case "Acquired":
            return _after_lock(run, now_ms)
        case "Available":
            return f"the next fetch of this partition gets it: {next_attempt_text(run)}"
        case _ if run["blockedBy"] is None:
            return "the start offset passes it"
        case _:
            return f"the start offset passes it when offset {run['blockedBy']} is done with, and all between"


def next_attempt_text(run: Item) -> str:
    """Return at which attempt records are after this one, and what then if that is the last one."""
    number, limit = run["deliveryCount"] + 1, run["deliveryCountLimit"]
    after = ": it is archived after that unless it is accepted" if number >= limit else ""
    return _attempt(number, limit) + after


def _after_lock(run: Item, now_ms: int | None) -> str:
    remaining_ms = run["lockRemainingMs"]
    ends = f"in {span_text(remaining_ms)}" if now_ms is None else ends_text(remaining_ms, now_ms=now_ms)
    if is_last_attempt(run):
        return (
            f"its lock ends {ends}: unless it is accepted before, it is archived then, or when it is released, "
            "and never delivered again"
        )
    return f"its lock ends {ends}, then it is for any member: {next_attempt_text(run)}"


def _attempt(number: int, limit: int) -> str:
    return f"attempt {number} of {limit}" + (", the last one" if number >= limit else "")
