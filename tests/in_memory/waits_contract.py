"""What every `Waits` keeps to: run against the double and the real thing."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from kproxy.handlers.callers import Waits


class WaitsWorld(Protocol):
    """Somewhere to wait, and a clock."""

    waits: Waits

    def in_ms(self, delay_ms: int) -> int:
        """Return the moment (Clock) in `delay_ms`."""
        ...

    def pass_time(self, delay_ms: int) -> None:
        """Let `delay_ms` pass, if time does not pass by itself."""
        ...


LONG_MS: Final = 60_000


async def a_wait_ends_when_its_connection_is_called(world: WaitsWorld) -> None:
    async with asyncio.TaskGroup() as group:
        called = group.create_task(world.waits.wait(1, world.in_ms(LONG_MS)))
        other = group.create_task(world.waits.wait(2, world.in_ms(LONG_MS)))
        await asyncio.sleep(0)
        world.waits.call(1)
        await called
        assert not other.done()
        world.waits.call(2)


async def a_wait_ends_at_its_moment(world: WaitsWorld) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(world.waits.wait(1, world.in_ms(30)))
        await asyncio.sleep(0)
        world.pass_time(30)


async def a_moment_that_is_past_is_not_waited_for(world: WaitsWorld) -> None:
    await world.waits.wait(1, world.in_ms(0))


async def a_call_that_nobody_waits_for_does_nothing(world: WaitsWorld) -> None:
    world.waits.call(1)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(world.waits.wait(1, world.in_ms(LONG_MS)))
        await asyncio.sleep(0)
        assert not waiting.done()
        world.waits.call(1)
        world.waits.call(1)


async def a_connection_may_wait_again(world: WaitsWorld) -> None:
    for _ in range(2):
        async with asyncio.TaskGroup() as group:
            group.create_task(world.waits.wait(1, world.in_ms(LONG_MS)))
            await asyncio.sleep(0)
            world.waits.call(1)


CONTRACT: Final[Sequence[Callable[[WaitsWorld], Awaitable[None]]]] = (
    a_wait_ends_when_its_connection_is_called,
    a_wait_ends_at_its_moment,
    a_moment_that_is_past_is_not_waited_for,
    a_call_that_nobody_waits_for_does_nothing,
    a_connection_may_wait_again,
)
