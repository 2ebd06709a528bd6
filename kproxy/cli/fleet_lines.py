"""The fleet in the few lines of `kproxy status`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kproxy.wording import counted


def fleet_facts(fleet: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and what is to be said of each; the members are a table of their own."""
    slots, moves = fleet["slots"], fleet["moves"]
    members = counted(len(fleet["members"]), "member")
    problem = f": {fleet['problem']}" if fleet["problem"] else ""
    yield "fleet.group", f"{fleet['group']}, {members}"
    yield "fleet.name", f"{fleet['name']}, {fleet['state']}{problem}"
    own = f"{slots['owned']} of {slots['count']} owned ({slots['ready']} ready, {slots['loading']} loading)"
    yield "fleet.slots", f"{own}, {slots['wanted']} wanted from others, {slots['unassigned']} unassigned"
    yield "fleet.moves", f"{moves['taken']} taken, {moves['givenUp']} given up, {moves['lost']} lost so far"
    yield "fleet.lease", f"{fleet['leaseMs'] / 1000:.1f} s, map epoch {fleet['mapEpoch']}"


def fleet_tables(fleet: Mapping[str, Any]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the tables below them by name; older processes do not tell of troubled slots."""
    return {"fleet.troubledSlots": fleet.get("troubledSlots", ()), "fleet.members": fleet["members"]}
