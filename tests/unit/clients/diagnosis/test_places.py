"""Which groups a broker that is down holds up."""

from typing import Any

from kproxy.clients.diagnosis.places import held_up_text, slot_of, unwritable_text

WHY = "states-1 has no leader: broker 1 is down"


def slots(*lost: int, count: int = 2, **said: Any) -> list[dict[str, Any]]:
    usual = {"unwritable": WHY, "downBrokers": [1], **said}
    return [{"partition": number, **(usual if number in lost else {})} for number in range(count)]


def test_a_group_is_in_the_slot_of_its_hash() -> None:
    assert [slot_of(group_id, slots(1)) for group_id in ("orders-0", "orders-1")] == slots(1)
    assert slot_of("orders-0", []) is None


def test_a_group_in_a_slot_without_a_leader_cannot_be_written_of_until_the_broker_is_back() -> None:
    assert unwritable_text(slots(1)[1]) == (
        f"its state cannot be written (slot 1 of the state log): {WHY}; "
        "acknowledgements wait or are refused until broker 1 is back"
    )
    assert unwritable_text(slots(1, downBrokers=[1, 2])[1]).endswith("until brokers 1, 2 are back")
    assert unwritable_text(slots(1, downBrokers=[])[1]).endswith("until there is one")


def test_of_a_slot_that_can_be_written_to_or_is_not_known_nothing_is_said() -> None:
    assert (unwritable_text(slots()[0]), unwritable_text(None)) == ("", "")


def test_of_all_groups_those_are_named_that_a_broker_holds_up() -> None:
    assert held_up_text(["orders-0", "orders-1"], slots(1)) == (
        "broker 1 down: 1 slot of 2 of the state log cannot be written to, and so share group orders-1: "
        "kproxy brokers tells since when"
    )


def test_of_very_many_groups_that_are_held_up_the_first_are_named() -> None:
    # When
    said = held_up_text([f"g-{number}" for number in range(9)], slots(0, count=1))

    # Then
    assert "share groups g-0, g-1, g-2, g-3, g-4 and 4 more" in said


def test_where_nobody_is_held_up_that_is_said_or_nothing() -> None:
    assert "and so no share group that is known here" in held_up_text(["orders-0"], slots(1))
    assert held_up_text(["orders-0"], slots()) == ""
