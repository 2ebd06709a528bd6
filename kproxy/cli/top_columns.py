"""The columns of `kproxy top`, on a terminal and off one."""

from typing import Final

from kproxy.cli.ages import age_text
from kproxy.cli.output import Column
from kproxy.clients.admin_port import Item


def lag_text(row: Item) -> str | None:
    """Return the lag of a group, with `>` before it if it is a lower bound; None where it is not known."""
    return None if row["lag"] is None else ("" if row["lagExact"] else ">") + str(row["lag"])


def _rate(name: str) -> Column:
    titles = {"acknowledged": "ACK/S", "delivered": "DELIVERED/S", "redelivered": "REDELIVERED/S"}
    return Column(titles[name], lambda row: _rate_text(row[f"{name}PerSecond"]))


def _rate_text(rate: float | None) -> str | None:
    if rate is None:
        return None
    return f"{rate:.1f}" if rate < 10 else f"{rate:.0f}"


GROUP: Final = Column("GROUP", "groupId")
COLUMNS: Final = (
    GROUP,
    Column("STATE", "state"),
    Column("#MEMBERS", "memberCount"),
    Column("LAG", lag_text),
    Column("OLDEST-AGE", lambda row: age_text(row["oldestAgeMs"], is_exact=row["oldestAgeExact"])),
    Column("IN-FLIGHT", "inFlightCount"),
    _rate("acknowledged"),
    _rate("delivered"),
    _rate("redelivered"),
    Column("OLDEST-LOCK", lambda row: age_text(row["oldestLockAgeMs"])),
)
"""In the order in which they are shown."""
LEFT_OUT_FIRST: Final = (
    "STATE",
    "DELIVERED/S",
    "#MEMBERS",
    "IN-FLIGHT",
    "OLDEST-LOCK",
    "ACK/S",
    "REDELIVERED/S",
)
"""Titles of columns that a narrow terminal has no room for, those first that are missed least."""
