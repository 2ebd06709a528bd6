"""`HeldRequests` and its double keep to one contract."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.handlers.callers import Waits
from kproxy.handlers.ports import Clock
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.relay.held_requests import HeldRequests
from tests.in_memory.in_memory_waits import InMemoryWaits
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.waits_contract import CONTRACT, WaitsWorld


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
