from kproxy.admin.fleet_views import FleetStanding, SlotMovesView, fleet_view, members_by_state
from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.inspectable import InMemoryStateLogSlots

MOVES = SlotMovesView(5, 2, 1)
MAP = FleetMap(
    epoch=77,
    members=(
        FleetMember("m-2", "t2", "kproxy-b", "10.0.0.2", 19099),
        FleetMember("m-1", "t1", "kproxy-a", "10.0.0.1", 19099),
        FleetMember("m-3", "t3", "kproxy-c", "", 0, refusal="its word about itself cannot be read"),
        FleetMember("m-4", "t4", "kproxy-d", "10.0.0.4", 19099, is_leaving=True),
        FleetMember("m-5", "t5", "kproxy-e", "10.0.0.5", 19099),
    ),
    owners=(1, 1, 0, 3, NOBODY, 1),
    next_owners=(NOBODY, NOBODY, NOBODY, 1, NOBODY, 0),
)
STANDING = FleetStanding("fleet", "kproxy-a", "m-1", "settled", "", 5_200, MAP)


def slots(*states: SlotState) -> InMemoryStateLogSlots:
    made = InMemoryStateLogSlots()
    for number, state in enumerate(states):
        made.add(number, state, reason=f"slot {number} is {state.value}")
    return made


def test_every_member_is_told_with_what_it_owns_and_why_it_gets_nothing() -> None:
    # When
    view = fleet_view(STANDING, (), MOVES)

    # Then
    assert [
        (each.name, each.address, each.slots_owned, each.is_this_process, each.is_leaving, each.problem)
        for each in view.members
    ] == [
        ("kproxy-a", "10.0.0.1:19099", 3, True, False, ""),
        ("kproxy-b", "10.0.0.2:19099", 1, False, False, ""),
        ("kproxy-c", "", 0, False, False, "its word about itself cannot be read"),
        ("kproxy-d", "10.0.0.4:19099", 1, False, True, ""),
        ("kproxy-e", "10.0.0.5:19099", 0, False, False, ""),
    ]
    assert (view.map_epoch, view.lease_ms, view.moves) == (77, 5_200, MOVES)


def test_slots_are_counted_by_what_becomes_of_them() -> None:
    # Given
    states = (
        SlotState.READY,
        SlotState.LOADING,
        SlotState.CLAIMING,
        SlotState.ELSEWHERE,
        SlotState.UNASSIGNED,
        SlotState.LEAVING,
    )

    # When
    view = fleet_view(STANDING, slots(*states).statuses(), MOVES).slots

    # Then
    assert (view.count, view.owned, view.ready, view.loading) == (6, 4, 1, 2)
    assert (view.wanted, view.unassigned) == (1, 1)


def test_slots_that_somebody_may_have_to_look_at_are_told_with_their_reasons_the_stopped_ones_first() -> None:
    # Given
    log = slots(
        SlotState.READY, SlotState.CLAIMING, SlotState.ELSEWHERE, SlotState.STOPPED, SlotState.LEAVING
    )

    # When
    told = fleet_view(STANDING, log.statuses(), MOVES).troubled_slots

    # Then
    assert [(slot.partition, slot.state) for slot in told] == [
        (3, SlotState.STOPPED),
        (1, SlotState.CLAIMING),
    ]
    assert [slot.reason for slot in told] == ["slot 3 is stopped", "slot 1 is claiming"]


def test_of_many_troubled_slots_ten_are_told() -> None:
    # When
    view = fleet_view(STANDING, slots(*[SlotState.LOADING] * 64).statuses(), MOVES)

    # Then
    assert [slot.partition for slot in view.troubled_slots] == list(range(10))


def test_before_the_first_map_there_are_no_members() -> None:
    # When
    view = fleet_view(FleetStanding("fleet", "kproxy-a"), (), MOVES)

    # Then
    assert (view.members, view.map_epoch, view.slots.wanted, view.state) == ((), -1, 0, "outside")


def test_members_are_counted_by_what_they_do() -> None:
    assert members_by_state(MAP) == {("owning",): 2, ("without_slots",): 1, ("leaving",): 1, ("refused",): 1}


def test_before_the_first_map_nobody_is_counted() -> None:
    assert set(members_by_state(None).values()) == {0}
