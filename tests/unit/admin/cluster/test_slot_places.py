"""Where the slots of the state log are, and what it means when a broker is down."""

from kproxy.admin.cluster.slot_places import PartitionPlace, SlotPlaceView, slot_place, unwritable_slots
from tests.in_memory.inspectable import Inspectable, answer_to


def test_a_slot_whose_partitions_have_leaders_can_be_written_to() -> None:
    # When
    place = slot_place(PartitionPlace("states", 5, 2), PartitionPlace("groups", 5, 3))

    # Then
    assert place == SlotPlaceView(2, 3, "", [])


def test_a_slot_with_a_partition_without_a_leader_cannot_and_the_broker_that_is_down_is_named() -> None:
    # When
    place = slot_place(PartitionPlace("states", 5, 2), PartitionPlace("groups", 5, None, (1,)))

    # Then
    assert place == SlotPlaceView(2, None, "groups-5 has no leader: broker 1 is down", [1])


def test_nothing_is_said_to_be_wrong_with_a_partition_of_which_nothing_is_known() -> None:
    # When
    place = slot_place(PartitionPlace("states", 5, None, is_known=False), PartitionPlace("groups", 5, 1))

    # Then
    assert (place.leader, place.unwritable) == (None, "")


def test_slots_that_cannot_be_written_to_are_counted_with_all_brokers_that_are_down() -> None:
    # Given
    places = {
        number: slot_place(PartitionPlace("s", number, None, (down,)), PartitionPlace("g", number, 3))
        for number, down in enumerate((1, 2, 1))
    } | {3: slot_place(PartitionPlace("s", 3, 3), PartitionPlace("g", 3, 3))}

    # When
    said = unwritable_slots(places)

    # Then
    assert said == (
        "3 slots of 4 cannot be written to: brokers 1, 2 are down; they have a partition without a leader: 0, 1, 2"
    )


def test_nothing_is_said_where_all_slots_can_be_written_to() -> None:
    assert unwritable_slots({0: SlotPlaceView(1, 1)}) == ""


def test_the_state_log_is_told_with_the_place_of_each_slot() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.state_log.add(0)
    inspectable.state_log.add(1)
    inspectable.places[1] = SlotPlaceView(None, 2, "states-1 has no leader: broker 1 is down", [1])

    # When
    answer = answer_to(inspectable, "/api/v1/state-log")

    # Then
    names = ("leader", "groupsLeader", "unwritable", "downBrokers")
    assert [[each[name] for name in names] for each in answer.items] == [
        [None, None, "", []],
        [None, 2, "states-1 has no leader: broker 1 is down", [1]],
    ]
