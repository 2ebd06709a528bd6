"""Since when somebody holds records, and how long locks last, in sentences. Pure."""

from typing import Final

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.spans import moment_text, span_text

LOCK_KEY: Final = "share.record.lock.duration.ms"


def held_text(run: Item, *, now_ms: int) -> str:
    """Return since when an Acquired run is held, or was renewed: `for 1.0 s, since 18:20:13 UTC`.

    `now_ms` is the moment of the answer that told of it, by the clock on the wall.
    """
    held_ms = max(0, run["lockDurationMs"] - run["lockRemainingMs"])
    return f"for {span_text(held_ms)}, since {moment_text(now_ms - held_ms, now_ms=now_ms)}"


def locks_text(run: Item) -> str:
    """Return how long the lock of an Acquired run lasts, and which key says so."""
    return f"last {span_text(run['lockDurationMs'])} here, by {LOCK_KEY} (30.0 s unless it is set)"
