"""`HeldRequests` and its double keep to one contract."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.handlers.callers import Waits
from kproxy.handlers.ports import Clock
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.relay.held_requests import HeldRequests
from kproxy.net.waking_turns import WakingTurns
from tests.in_memory.in_memory_waits import InMemoryWaits
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.waits_contract import CONTRACT, LONG_MS, WaitsWorld
from tests.worlds.waiting import most_in_a_turn


class World:
    """A clock of either kind, and what waits by it."""

    def __init__(self, clock: Clock, waits: Waits) -> None:
        self.clock = clock
        self.waits = waits

    def in_ms(self, delay_ms: int) -> int:
        return self.clock.now_ms() + delay_ms

    def pass_time(self, delay_ms: int) -> None:
        if isinstance(self.clock, ManualClock):
            self.clock.advance(delay_ms)


def real() -> World:
    clock = MonotonicClock()
    return World(clock, HeldRequests(clock))


def in_memory() -> World:
    clock = ManualClock()
    return World(clock, InMemoryWaits(clock))


@pytest.mark.parametrize("new_world", [real, in_memory])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_the_contract(
    new_world: Callable[[], World], promise: Callable[[WaitsWorld], Awaitable[None]]
) -> None:
    world = new_world()

    async def keep_it() -> None:
        async with asyncio.timeout(5):
            await promise(world)

    asyncio.run(keep_it())
    assert isinstance(world.waits, HeldRequests | InMemoryWaits)
    assert len(world.waits) == 0


async def test_those_who_are_called_together_go_on_in_several_turns() -> None:
    # Given
    clock = MonotonicClock()
    held = HeldRequests(clock, WakingTurns(4))

    def call_all() -> None:
        for connection_id in range(20):
            held.call(connection_id)

    # When
    until_ms = clock.now_ms() + LONG_MS
    most = await most_in_a_turn((held.wait(each, until_ms) for each in range(20)), call_all)

    # Then
    assert most <= 4
    assert len(held) == 0
