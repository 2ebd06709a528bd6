import dataclasses
from typing import Final

import pytest

from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from tests.demo.fleet_status import NOWHERE, FleetStatus, KproxyStatus
from tests.demo.plan import GROUP

SLOT_COUNT: Final = 5
SLOT_OF_THE_GROUP: Final = group_partition(GroupId(GROUP), SLOT_COUNT)
OTHERS: Final = frozenset(range(SLOT_COUNT)) - {SLOT_OF_THE_GROUP}


def a_status() -> FleetStatus:
    """Kproxy 2 serves the group and two slots more, kproxy 1 two; alice is behind the one, bob behind the other."""
    first, second, *rest = sorted(OTHERS)
    kproxies = [
        KproxyStatus("kproxy 1", is_up=True, slots=frozenset(rest)),
        KproxyStatus("kproxy 2", is_up=True, slots=frozenset({SLOT_OF_THE_GROUP, first, second})),
    ]
    return FleetStatus(1.0, SLOT_COUNT, kproxies, {"alice": "kproxy 1", "bob": "kproxy 2"})


def test_who_has_the_slot_of_a_group_serves_it() -> None:
    # When
    server = a_status().server_of(GROUP)

    # Then
    assert server == "kproxy 2"


def test_nobody_serves_a_group_before_it_is_known_how_many_slots_there_are() -> None:
    # When
    server = FleetStatus(1.0, 0, [KproxyStatus("kproxy 1")]).server_of(GROUP)

    # Then
    assert server is None


def test_a_fleet_is_whole_when_all_are_up_and_share_the_slots_evenly() -> None:
    assert a_status().is_whole


@pytest.mark.parametrize(
    "other",
    [
        KproxyStatus("kproxy 1"),
        KproxyStatus("kproxy 1", is_up=True, slots=frozenset(sorted(OTHERS)[2:3])),
        KproxyStatus("kproxy 1", is_up=True, slots=frozenset(sorted(OTHERS)[1:])),
    ],
    ids=["one_is_down", "a_slot_is_on_its_way", "one_slot_is_served_twice"],
)
def test_a_fleet_is_not_whole_while_something_is_missing(other: KproxyStatus) -> None:
    # When
    status = dataclasses.replace(a_status(), kproxies=[other, a_status().kproxies[1]])

    # Then
    assert not status.is_whole


def test_a_fleet_is_not_whole_while_one_has_hardly_any_slots() -> None:
    # Given
    everything = frozenset(range(SLOT_COUNT))
    newcomer = KproxyStatus("kproxy 1", is_up=True, slots=frozenset({0}))
    owner = KproxyStatus("kproxy 2", is_up=True, slots=everything - {0})

    # When
    status = dataclasses.replace(a_status(), kproxies=[newcomer, owner])

    # Then
    assert not status.is_whole


def test_it_says_where_each_member_is_and_how_many_slots_each_kproxy_serves() -> None:
    # When
    status = a_status()

    # Then
    assert status.places_in_words == "alice behind kproxy 1, bob behind kproxy 2"
    assert status.slots_in_words == "2 + 3"
    assert status.members_behind("kproxy 2") == ["bob"]


@pytest.mark.parametrize(
    ("places", "is_everybody_somewhere"),
    [({"alice": "kproxy 1"}, True), ({"alice": "kproxy 1", "bob": NOWHERE}, False), ({}, False)],
)
def test_a_member_without_a_connection_is_nowhere(
    places: dict[str, str], *, is_everybody_somewhere: bool
) -> None:
    # When
    status = dataclasses.replace(a_status(), places=places)

    # Then
    assert status.is_everybody_somewhere is is_everybody_somewhere
