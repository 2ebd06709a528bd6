"""Who owns the slots: slot 0 decides, for all of them at once."""

import asyncio
from dataclasses import dataclass, field

import pytest

from kproxy.net.slot_claim import ClaimLost
from kproxy.net.slot_ownership import SlotOwnership
from kproxy.net.slot_reports import SlotReports
from tests.unit.net.state_logs import MeasuredThings, alarms


@dataclass
class Slot:
    """A slot as far as it is owned."""

    number: int
    owned_up_to: int
    left_for: list[str] = field(default_factory=list)

    def step_down(self, detail: str) -> None:
        """Keep why."""
        self.left_for.append(detail)


class World:
    """Three slots, and somebody who looks into logs."""

    def __init__(self, owned_up_to: int) -> None:
        self.looks: list[tuple[int, int]] = []
        self.is_claimed_by_another = False
        self.ownership = SlotOwnership(self.look, reports=SlotReports(MeasuredThings()))
        self.slots = [Slot(number, owned_up_to + number) for number in range(3)]
        for slot in self.slots:
            self.ownership.join(slot)

    async def look(self, number: int, owned_up_to: int) -> None:
        """Keep what was looked at."""
        self.looks.append((number, owned_up_to))
        if self.is_claimed_by_another:
            raise ClaimLost("'another' claimed the slot at offset 9")


def test_only_the_log_of_slot_0_is_looked_at_from_where_it_is_known_to_be_ours() -> None:
    # Given
    world = World(owned_up_to=7)

    # When
    asyncio.run(world.ownership.require_held())

    # Then
    assert world.looks == [(0, 7)]


def test_before_slot_0_was_claimed_there_is_nothing_to_look_at() -> None:
    # Given
    world = World(owned_up_to=-1)

    # When
    asyncio.run(world.ownership.require_held())

    # Then
    assert world.looks == []


def test_another_claim_is_told_and_leaves_it_to_the_caller_what_becomes_of_the_slots() -> None:
    # Given
    world = World(owned_up_to=7)
    world.is_claimed_by_another = True

    # When
    with pytest.raises(ClaimLost):
        asyncio.run(world.ownership.require_held())

    # Then
    assert [slot.left_for for slot in world.slots] == [[], [], []]


def test_all_slots_are_lost_together_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    world = World(owned_up_to=7)

    # When
    world.ownership.lose("another came")
    world.ownership.lose("another came, says the next slot")

    # Then
    assert [slot.left_for for slot in world.slots] == [["another came"]] * 3
    assert [record.msg for record in alarms(caplog)] == ["slot_stepped_down"]
