"""A slot has moved when its owner is another one than before, however long nobody owned it in between."""

from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.fleet.slot_moves import SlotMoves

MEMBERS = tuple(FleetMember(name, name, name, "127.0.0.1", 1) for name in "ab")


def a_map(epoch: int, *owners: int) -> FleetMap:
    return FleetMap(epoch, MEMBERS, owners, (NOBODY,) * len(owners))


def test_the_map_by_which_a_slot_came_to_its_owner_is_remembered() -> None:
    moves = SlotMoves()
    for fleet_map in (a_map(5, 0, 0, 1), a_map(6, 0, 1, 1), a_map(7, 0, 1, 1)):
        moves.note(fleet_map)

    assert [moves.moved_at(slot) for slot in range(3)] == [-1, 6, -1]


def test_a_slot_that_comes_back_to_its_owner_from_nobody_has_not_moved() -> None:
    moves = SlotMoves()
    for fleet_map in (a_map(5, 0, 0), a_map(6, NOBODY, NOBODY), a_map(7, 0, 1)):
        moves.note(fleet_map)

    assert [moves.moved_at(slot) for slot in range(2)] == [-1, 7]
