"""The map of a fleet: who owns what, and its bytes."""

from typing import Any

import pytest

from kproxy.errors import UnreadableFleetData
from kproxy.fleet.data_format import encode_data
from kproxy.fleet.fleet_map import FleetMap, FleetMember, decode_map, encode_map
from kproxy.wire.messages.fleet_map_message import FleetMapMember, FleetMapMessage

ALICE = FleetMember("id-a", "token-a", "alice", "10.0.0.1", 19_099)
BOB = FleetMember("id-b", "token-b", "bob", "10.0.0.2", 19_099, is_leaving=True)
CAROL = FleetMember("id-c", "", "?", "", 0, refusal="what it says cannot be read")
MAP = FleetMap(7, (ALICE, BOB, CAROL), (0, 1, 1, -1), (-1, 0, -1, -1))


def test_everybody_reads_the_map_that_was_written() -> None:
    assert decode_map(encode_map(MAP)) == MAP


def test_each_slot_has_an_owner_or_none_and_may_have_a_next_one() -> None:
    assert [MAP.owner_of(slot) for slot in range(4)] == [ALICE, BOB, BOB, None]
    assert [MAP.next_owner_of(slot) for slot in range(4)] == [None, ALICE, None, None]
    assert (MAP.slot_count, MAP.has_moves) == (4, True)


def test_each_member_has_its_slots_and_those_that_it_is_to_give_up() -> None:
    assert [MAP.slots_of(each) for each in ("id-a", "id-b", "id-c")] == [{0}, {1, 2}, set()]
    assert [MAP.leaving(each) for each in ("id-a", "id-b", "id-c")] == [set(), {1}, set()]
    assert (MAP.member("id-b"), MAP.member("id-x")) == (BOB, None)


def test_slots_are_given_to_members_that_stay_and_are_not_refused() -> None:
    assert [member.may_own for member in MAP.members] == [True, False, False]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"epoch": -1}, "map epoch -1"),
        ({"members": []}, "number of members 0, expected 1 to 1000"),
        ({"owners": [], "next_owners": []}, "number of slots 0"),
        ({"next_owners": [-1]}, "number of next owners 1, expected 2 to 2"),
        ({"owners": [1, 0]}, "owner 1, expected -1 to 0"),
        ({"next_owners": [-2, 0]}, "next owner -2, expected -1 to 0"),
        ({"members": [FleetMapMember(member_id="")]}, "member id of 0 characters"),
        ({"members": [FleetMapMember(member_id="a", host="h" * 256)]}, "length of a host 256"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], reason: str) -> None:
    right: dict[str, Any] = {
        "epoch": 1,
        "members": [FleetMapMember(member_id="a")],
        "owners": [0, -1],
        "next_owners": [-1, -1],
    }
    with pytest.raises(UnreadableFleetData, match=reason):
        decode_map(encode_data(FleetMapMessage(**{**right, **wrong})))
