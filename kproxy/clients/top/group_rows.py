"""The rows of `kproxy top`: what two looks at the list of groups say, and which group comes first. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.clients.admin_port import Item

_RATES: Final[Mapping[str, str]] = {
    "acknowledgedPerSecond": "acknowledgedCount",
    "deliveredPerSecond": "deliveredCount",
    "redeliveredPerSecond": "redeliveredCount",
}
"""What grew by how much in a second, and the field that counts it."""


@dataclass(frozen=True, slots=True)
class GroupsLook:
    """What `/api/v1/groups` told, and when by a clock that only goes forward, in seconds.

    `answer` is what else stood there.
    """

    taken_s: float
    groups: Sequence[Item]
    answer: Mapping[str, object] = field(default_factory=dict)

    @property
    def unavailable(self) -> str:
        """Why it may not be all; empty if it is."""
        return str(self.answer.get("unavailable") or "")


def rows_of(before: GroupsLook | None, now: GroupsLook) -> list[Item]:
    """Return the groups of `now`, each with three rates: records per second since `before`.

    A rate is None of a group that was not there before, and when its counts began anew.
    """
    earlier = {} if before is None else {group["groupId"]: group for group in before.groups}
    seconds = 0.0 if before is None else now.taken_s - before.taken_s
    return [{**group, **_rates(earlier.get(group["groupId"]), group, seconds)} for group in now.groups]


def _rates(before: Item | None, now: Item, seconds: float) -> Mapping[str, float | None]:
    grown = {name: _grown(before, now, count) for name, count in _RATES.items()}
    if seconds <= 0 or any(each is None or each < 0 for each in grown.values()):
        return dict.fromkeys(_RATES)
    return {name: round(each / seconds, 3) for name, each in grown.items() if each is not None}


def _grown(before: Item | None, now: Item, count: str) -> int | None:
    """Return by how much a count grew; None where one of the two looks does not tell it."""
    if before is None or before.get(count) is None or now.get(count) is None:
        return None
    return int(now[count]) - int(before[count])


def _pain(row: Item) -> tuple[float, ...]:
    """Return how badly a group does: first by how long its oldest record waits, then lag, then repeated deliveries."""
    return (
        _number(row, "oldestAgeMs"),
        _number(row, "lag"),
        _number(row, "redeliveredPerSecond"),
        _number(row, "redeliveredCount"),
    )


def _number(row: Item, name: str) -> float:
    """Return a field to sort by; what is not known comes last."""
    value = row.get(name)
    return -1.0 if value is None else float(value)


SORTS: Final[Mapping[str, Callable[[Item], tuple[float, ...]]]] = {
    "pain": _pain,
    "lag": lambda row: (_number(row, "lag"),),
    "in-flight": lambda row: (_number(row, "inFlightCount"),),
    "acknowledged": lambda row: (_number(row, "acknowledgedPerSecond"),),
    "delivered": lambda row: (_number(row, "deliveredPerSecond"),),
    "redelivered": lambda row: (_number(row, "redeliveredPerSecond"), _number(row, "redeliveredCount")),
    "lock": lambda row: (_number(row, "oldestLockAgeMs"),),
    "name": lambda _: (),
}
"""What rows may be sorted by: the most first, names from A to Z. Rows that are equal come by name."""


def in_order(rows: Sequence[Item], *, sort: str, is_reversed: bool = False, text: str = "") -> list[Item]:
    """Return the rows whose group id, or state, has `text` in it, in any case, in the order of `sort`."""
    wanted = text.lower()
    chosen = [row for row in rows if wanted in row["groupId"].lower() or wanted == row["state"].lower()]
    by_name = sorted(chosen, key=lambda row: str(row["groupId"]))
    ordered = sorted(by_name, key=lambda row: tuple(-each for each in SORTS[sort](row)))
    return ordered[::-1] if is_reversed else ordered
