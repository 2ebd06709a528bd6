"""The assignor: nothing is taken from who may be serving, counts are balanced, what can stay stays."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.fleet.assignor import AssignmentTerms, Candidates, assign
from kproxy.fleet.fleet_map import FleetMap
from kproxy.fleet.member_metadata import MemberMetadata, encode_member
from tests.worlds.fleet_world import profile

TERMS = AssignmentTerms(slot_count=8, state_format_version=1, moves_at_once=2)


def member(*owned: int, epoch: int = 5, slot_count: int = 8, is_leaving: bool = False) -> MemberMetadata:
    map_epoch = epoch if owned else -1
    return MemberMetadata(
        profile("somebody", slot_count=slot_count), frozenset(owned), map_epoch, epoch, is_leaving
    )


def made(
    members: Mapping[str, MemberMetadata],
    *,
    refused: Mapping[str, str] | None = None,
    previous: FleetMap | None = None,
    terms: AssignmentTerms = TERMS,
) -> FleetMap:
    return assign(Candidates(members), terms, refused=refused or {}, previous=previous)


def owners(fleet_map: FleetMap) -> list[str | None]:
    found = (fleet_map.owner_of(slot) for slot in range(fleet_map.slot_count))
    return [None if owner is None else owner.member_id for owner in found]


def moves(fleet_map: FleetMap) -> dict[int, str]:
    found = {slot: fleet_map.next_owner_of(slot) for slot in range(fleet_map.slot_count)}
    return {slot: owner.member_id for slot, owner in found.items() if owner is not None}


def test_the_first_members_share_all_slots() -> None:
    fleet_map = made({"a": member(), "b": member(), "c": member()})
    assert sorted(len(fleet_map.slots_of(each)) for each in "abc") == [2, 3, 3]
    assert not fleet_map.has_moves


def test_a_newcomer_gets_nothing_that_a_living_member_owns_and_is_promised_a_few() -> None:
    fleet_map = made({"a": member(*range(8)), "b": member()})
    assert owners(fleet_map) == ["a"] * 8
    assert moves(fleet_map) == {6: "b", 7: "b"}


def test_an_owner_is_asked_for_what_it_has_longest_and_keeps_what_has_just_moved() -> None:
    """Or else each group of a process that is restarted would move twice, and those of the others never."""
    moved_at = [5, 5, 5, 5, 9, 9, 7, 9]

    fleet_map = assign(
        Candidates({"a": member(*range(8)), "b": member()}),
        replace(TERMS, moves_at_once=8),
        refused={},
        moved_at=moved_at.__getitem__,
    )

    assert sorted(moves(fleet_map)) == [0, 1, 2, 3]


def test_what_was_given_up_goes_to_whom_it_was_promised() -> None:
    promised = made({"a": member(*range(8)), "b": member(), "c": member()})
    (first, second) = moves(promised)
    members = {"a": member(*set(range(8)) - {first, second}), "b": member(), "c": member()}
    fleet_map = made(members, previous=promised)
    assert {slot: owners(fleet_map)[slot] for slot in (first, second)} == moves(promised)


def test_slots_of_a_member_that_is_gone_are_given_at_once() -> None:
    before = made({"a": member(0, 1, 2, 3), "b": member(4, 5, 6, 7)})
    fleet_map = made({"a": member(0, 1, 2, 3)}, previous=before)
    assert owners(fleet_map) == ["a"] * 8


def test_a_member_that_lost_its_slots_gets_them_back_if_nobody_has_them() -> None:
    before = made({"a": member(0, 2, 4, 6), "b": member(1, 3, 5, 7)})
    fleet_map = made({"a": member(0, 2, 4, 6), "b": member()}, previous=before)
    assert fleet_map == replace(before, epoch=fleet_map.epoch)


@pytest.mark.parametrize(("epochs", "owner"), [((5, 6), "b"), ((6, 5), "a")])
def test_of_two_that_claim_a_slot_the_one_with_the_higher_epoch_has_it(
    epochs: tuple[int, int], owner: str
) -> None:
    first, second = epochs
    fleet_map = made({"a": member(0, 1, 2, 3, epoch=first), "b": member(3, 4, 5, 6, 7, epoch=second)})
    assert owners(fleet_map)[3] == owner


def test_a_member_that_leaves_keeps_its_slots_until_it_gives_them_up() -> None:
    fleet_map = made({"a": member(0, 1, 2, 3, is_leaving=True), "b": member(4, 5, 6, 7)})
    assert owners(fleet_map) == ["a"] * 4 + ["b"] * 4
    assert moves(fleet_map) == {2: "b", 3: "b"}


def test_the_last_one_to_leave_has_nobody_to_give_anything_to() -> None:
    fleet_map = made({"a": member(*range(4), is_leaving=True)})
    assert owners(fleet_map) == ["a"] * 4 + [None] * 4
    assert not fleet_map.has_moves


@pytest.mark.parametrize(
    ("odd", "refused", "reason"),
    [
        (member(slot_count=9), {}, "its state log has 9 slots, that of the others 8"),
        (
            replace(member(), profile=replace(profile("x"), state_format_version=2)),
            {},
            "it writes format 2 of the state log, the others write 1",
        ),
        (member(), {"b": "nobody reaches it"}, "nobody reaches it"),
    ],
)
def test_a_member_that_does_not_fit_is_refused_by_name_and_the_others_go_on(
    odd: MemberMetadata, refused: dict[str, str], reason: str
) -> None:
    fleet_map = made({"a": member(), "b": odd}, refused=refused)
    told = fleet_map.member("b")
    assert told is not None
    assert (told.name, told.refusal) == (odd.profile.name, reason)
    assert owners(fleet_map) == ["a"] * 8


def test_a_refused_member_is_asked_for_what_it_owns() -> None:
    fleet_map = made({"a": member(0, 1, 2, 3), "b": member(4, 5, 6, 7)}, refused={"b": "unreachable"})
    assert owners(fleet_map) == ["a"] * 4 + ["b"] * 4
    assert moves(fleet_map) == {6: "a", 7: "a"}


def test_what_a_member_owns_that_cannot_be_read_stays_its_own_as_the_last_map_says() -> None:
    before = made({"a": member(0, 1, 2, 3), "b": member(4, 5, 6, 7)})
    candidates = Candidates.of({"a": encode_member(member(0, 1, 2, 3)), "b": b"?"})
    fleet_map = assign(candidates, TERMS, refused={}, previous=before)
    assert owners(fleet_map) == ["a"] * 4 + ["b"] * 4
    told = fleet_map.member("b")
    assert told is not None
    assert told.refusal == "what it says of itself cannot be read: 1 byte, expected 2 to 1048576 bytes"
    assert set(moves(fleet_map).values()) == {"a"}


def test_a_member_that_cannot_be_read_and_was_never_heard_of_owns_nothing() -> None:
    fleet_map = assign(Candidates.of({"a": encode_member(member()), "b": b"?"}), TERMS, refused={})
    assert owners(fleet_map) == ["a"] * 8


def test_the_epoch_is_above_all_that_anybody_knows_of_and_not_below_the_floor() -> None:
    previous = replace(made({"a": member(epoch=3)}), epoch=20)
    epochs = [
        assign(Candidates({"a": member(epoch=9)}), TERMS, refused={}, epoch_floor=floor).epoch
        for floor in (0, 50)
    ]
    assert (epochs, made({"a": member(epoch=9)}, previous=previous).epoch) == ([10, 50], 21)


@given(
    slot_count=st.integers(1, 30),
    shares=st.lists(st.integers(0, 6), min_size=30, max_size=30),
    leaving=st.frozensets(st.integers(1, 5), max_size=2),
    member_count=st.integers(1, 6),
    moves_at_once=st.integers(1, 5),
)
def test_whoever_had_what_generations_end_in_balance_and_no_slot_is_ever_taken(
    slot_count: int, shares: list[int], leaving: frozenset[int], member_count: int, moves_at_once: int
) -> None:
    terms = AssignmentTerms(slot_count, 1, moves_at_once)
    owned = {
        number: frozenset(slot for slot in range(slot_count) if shares[slot] == number)
        for number in range(member_count)
    }
    fleet_map = None
    for generation in range(1, 40):
        members = {
            f"m{number}": member(
                *owned[number], epoch=generation, slot_count=slot_count, is_leaving=number in leaving
            )
            for number in range(member_count)
        }
        fleet_map = made(members, previous=fleet_map, terms=terms)
        after = {number: fleet_map.slots_of(f"m{number}") for number in range(member_count)}
        asked = {number: fleet_map.leaving(f"m{number}") for number in range(member_count)}
        assert all(owned[number] <= after[number] for number in owned)
        assert all(len(slots) <= moves_at_once for slots in asked.values())
        owned = {number: after[number] - asked[number] for number in owned}
    counts = [len(owned[number]) for number in owned if number not in leaving]
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == slot_count
    assert fleet_map is not None
    assert not fleet_map.has_moves
