"""Who owns the slots: slot 0 decides, for all of them at once."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

import pytest

from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.state_log.ownership import UNKNOWN_OWNER, ClaimLost, SlotOwnership
from kproxy.net.state_log.reports import SlotReports
from tests.worlds.state_logs import MeasuredThings, alarms


@dataclass
class Slot:
    """A slot as far as it is owned."""

    number: int
    owned_up_to: int
    left_for: list[str] = field(default_factory=list)
    fault: Exception | None = None

    def step_down(self, detail: str) -> None:
        """Keep why."""
        self.left_for.append(detail)
        if self.fault is not None:
            raise self.fault


class World:
    """Three slots, and somebody who looks into logs."""

    def __init__(self, owned_up_to: int) -> None:
        self.looks: list[tuple[int, int]] = []
        self.failure: Exception | None = None
        self.may_look, self.is_looking = asyncio.Event(), asyncio.Event()
        self.may_look.set()
        self.searches: list[Coroutine[object, object, None]] = []
        self.ownership = SlotOwnership(
            self.look,
            reports=SlotReports(MeasuredThings()),
            spawn=lambda work, _name: self.searches.append(work),
        )
        self.slots = [Slot(number, owned_up_to + number) for number in range(3)]
        for slot in self.slots:
            self.ownership.join(slot)

    async def look(self, number: int, owned_up_to: int) -> None:
        """Keep what was looked at."""
        self.looks.append((number, owned_up_to))
        self.is_looking.set()
        await self.may_look.wait()
        if self.failure is not None:
            raise self.failure

    async def outcomes_of(self, count: int) -> list[object]:
        """Ask `count` times at once; return what was raised, None for nothing."""
        asked = [self.ownership.require_held() for _ in range(count)]
        return list(await asyncio.gather(*asked, return_exceptions=True))


async def test_only_the_log_of_slot_0_is_looked_at_from_where_it_is_known_to_be_ours() -> None:
    # Given
    world = World(owned_up_to=7)

    # When
    await world.ownership.require_held()

    # Then
    assert world.looks == [(0, 7)]


async def test_before_slot_0_was_claimed_there_is_nothing_to_look_at() -> None:
    # Given
    world = World(owned_up_to=-1)

    # When
    await world.ownership.require_held()

    # Then
    assert world.looks == []


async def test_another_claim_is_told_and_leaves_it_to_the_caller_what_becomes_of_the_slots() -> None:
    # Given
    world = World(owned_up_to=7)
    world.failure = ClaimLost("'another' claimed the slot at offset 9")

    # When
    with pytest.raises(ClaimLost):
        await world.ownership.require_held()

    # Then
    assert [slot.left_for for slot in world.slots] == [[], [], []]


async def test_all_who_ask_before_a_look_begins_share_it() -> None:
    # Given
    world = World(owned_up_to=7)

    # When
    outcomes = await world.outcomes_of(5)

    # Then
    assert outcomes == [None] * 5
    assert world.looks == [(0, 7)]


@pytest.mark.parametrize(
    "failure",
    [ClaimLost("'another' claimed the slot at offset 9"), BrokerFailure("request_timeout", "no answer")],
    ids=["claimed by another", "not readable"],
)
async def test_what_a_look_found_is_told_to_all_who_share_it(failure: Exception) -> None:
    # Given
    world = World(owned_up_to=7)
    world.failure = failure

    # When
    outcomes = await world.outcomes_of(3)

    # Then
    assert [(type(outcome), str(outcome)) for outcome in outcomes] == [(type(failure), str(failure))] * 3
    assert len({id(outcome) for outcome in outcomes}) == 3, "each raises one of its own"
    assert world.looks == [(0, 7)]


async def test_who_asks_while_a_look_is_under_way_hears_of_the_next_one() -> None:
    # Given
    world = World(owned_up_to=7)
    world.may_look.clear()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(world.outcomes_of(1))
        await world.is_looking.wait()

        # When
        late = tasks.create_task(world.outcomes_of(2))
        await asyncio.sleep(0)
        world.failure = ClaimLost("'another' claimed the slot at offset 9")
        world.may_look.set()

    # Then
    assert [type(outcome) for outcome in first.result() + late.result()] == [ClaimLost] * 3
    assert world.looks == [(0, 7)] * 2


async def test_a_look_that_is_given_up_is_begun_anew_by_who_waits_for_it() -> None:
    # Given
    world = World(owned_up_to=7)
    world.may_look.clear()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(world.outcomes_of(1))
        second = tasks.create_task(world.outcomes_of(1))
        await world.is_looking.wait()

        # When
        first.cancel()
        world.may_look.set()

    # Then
    assert (second.result(), world.looks) == ([None], [(0, 7)] * 2)


def test_all_slots_are_lost_together_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    world = World(owned_up_to=7)

    # When
    world.ownership.lose(ClaimLost("'another' claimed the slot at offset 9", "another"))
    world.ownership.lose(ClaimLost("another came, says the next slot"))

    # Then
    assert [slot.left_for for slot in world.slots] == [["'another' claimed the slot at offset 9"]] * 3
    assert errors(caplog) == [("slot_stepped_down", "another")]


def test_a_slot_that_meets_a_fault_when_it_is_lost_keeps_no_other(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    world = World(owned_up_to=7)
    world.slots[0].fault = RuntimeError("a fault of kproxy itself")

    # When
    world.ownership.lose(ClaimLost("'another' claimed the slot at offset 9", "another"))

    # Then
    assert [slot.left_for for slot in world.slots] == [["'another' claimed the slot at offset 9"]] * 3
    assert [record.msg for record in alarms(caplog)] == ["slot_not_left", "slot_stepped_down"]


async def test_who_took_over_is_looked_up_where_only_a_fence_told_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    world = World(owned_up_to=7)
    world.ownership.lose(ClaimLost("INVALID_PRODUCER_EPOCH"))
    left_before = [slot.left_for for slot in world.slots]
    world.failure = ClaimLost("'another' claimed the slot at offset 9", "another")

    # When
    (search,) = world.searches
    await search

    # Then
    assert left_before == [["INVALID_PRODUCER_EPOCH"]] * 3, "nothing is served while it is looked for"
    assert errors(caplog) == [("slot_stepped_down", "another")]
    assert world.ownership.new_owner == "another"


async def test_a_step_down_is_said_also_when_nobody_tells_who_took_over(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr("kproxy.net.state_log.ownership.NAMING_SECONDS", 0.01)
    world = World(owned_up_to=7)
    world.failure = BrokerFailure("request_timeout", "no answer")
    world.ownership.lose(ClaimLost("INVALID_PRODUCER_EPOCH"))

    # When
    (search,) = world.searches
    await search

    # Then
    assert errors(caplog) == [("slot_stepped_down", UNKNOWN_OWNER)]


def errors(caplog: pytest.LogCaptureFixture) -> list[tuple[str, object]]:
    """What was said loudly, and whom it names."""
    return [(record.msg, getattr(record, "event_keys", {})["new_owner"]) for record in alarms(caplog)]
