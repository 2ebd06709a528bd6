"""Where a membership is, and what may follow.

```
                 ┌───────────── UNKNOWN_MEMBER_ID, from everywhere ─────────────┐
                 ▼                                                              │
    ┌────────▶ outside ──▶ joining ──┬─ leader ─▶ assigning ─▶ syncing ─▶ settled
    │                      ▲   ▲     └─ others ──────────────▶   │           │
    │                      │   └── REBALANCE_IN_PROGRESS ────────┘           │
    │                      └── a rebalance, or a reason of its own ──────────┘
    left, from everywhere
```
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class MemberState(StrEnum):
    """Where a membership is."""

    OUTSIDE = "outside"
    """In no group; it owns nothing."""
    JOINING = "joining"
    """Its join waits for the others. What it owned it owns."""
    ASSIGNING = "assigning"
    """It leads the generation, and has to make the map."""
    SYNCING = "syncing"
    """It waits for the map."""
    SETTLED = "settled"
    LEFT = "left"


TRANSITIONS: Final[Mapping[MemberState, frozenset[MemberState]]] = {
    MemberState.OUTSIDE: frozenset({MemberState.OUTSIDE, MemberState.JOINING, MemberState.LEFT}),
    MemberState.JOINING: frozenset(
        {MemberState.ASSIGNING, MemberState.SYNCING, MemberState.OUTSIDE, MemberState.LEFT}
    ),
    MemberState.ASSIGNING: frozenset({MemberState.SYNCING, MemberState.OUTSIDE, MemberState.LEFT}),
    MemberState.SYNCING: frozenset(
        {MemberState.SETTLED, MemberState.JOINING, MemberState.OUTSIDE, MemberState.LEFT}
    ),
    MemberState.SETTLED: frozenset({MemberState.JOINING, MemberState.OUTSIDE, MemberState.LEFT}),
    MemberState.LEFT: frozenset(),
}
"""What may follow each state."""
