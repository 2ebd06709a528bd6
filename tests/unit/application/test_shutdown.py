"""The end of the process: its time runs once, and a second signal cuts it short."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.application.shutdown import LAST_PART_SECONDS, Shutdown

LONG_MS = 60_000


async def for_ever() -> None:
    await asyncio.Event().wait()


async def nothing() -> None:
    """Be over at once."""


async def seconds_of(wait: Awaitable[None]) -> float:
    began = asyncio.get_running_loop().time()
    await wait
    return asyncio.get_running_loop().time() - began


def begun(grace_ms: int) -> Shutdown:
    shutdown = Shutdown(grace_ms)
    shutdown.request()
    shutdown.begin()
    return shutdown


async def test_the_first_signal_asks_for_the_end_and_cuts_nothing_short() -> None:
    shutdown = Shutdown(LONG_MS)

    shutdown.request()

    assert shutdown.requested.is_set()
    shutdown.begin()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(shutdown.within_grace(for_ever()), 0.02)


async def test_steps_share_one_grace() -> None:
    began = asyncio.get_running_loop().time()
    shutdown = begun(grace_ms=400)

    await shutdown.within_grace(for_ever())
    first_s = asyncio.get_running_loop().time() - began
    second_s = await seconds_of(shutdown.within_grace(for_ever()))

    assert first_s >= 0.39
    assert second_s < 0.39


@pytest.mark.parametrize(("grace_ms", "last_part_s"), [(1_200, 0.6), (2_600, LAST_PART_SECONDS)])
async def test_what_may_not_take_the_whole_grace_leaves_its_last_part_to_others(
    grace_ms: int, last_part_s: float
) -> None:
    began = asyncio.get_running_loop().time()
    shutdown = begun(grace_ms)

    await shutdown.before_last_part(for_ever())
    took_s = asyncio.get_running_loop().time() - began
    rest_s = await seconds_of(shutdown.within_grace(for_ever()))

    assert grace_ms / 1000 - last_part_s - 0.01 <= took_s < grace_ms / 1000 - 0.01
    assert took_s + rest_s >= grace_ms / 1000 - 0.01


async def test_a_step_that_waits_for_nothing_is_over_also_when_the_grace_is() -> None:
    shutdown, is_done = begun(grace_ms=0), asyncio.Event()

    async def set_done() -> None:
        is_done.set()

    await shutdown.within_grace(set_done())

    assert is_done.is_set()


@pytest.mark.parametrize("step", [Shutdown.before_last_part, Shutdown.within_grace, Shutdown.unless_hurried])
async def test_a_second_signal_ends_the_step_that_is_waited_for_and_those_behind_it(
    step: Callable[..., Awaitable[None]],
) -> None:
    shutdown = begun(LONG_MS)
    asyncio.get_running_loop().call_later(0.02, shutdown.request)

    async with asyncio.timeout(10):
        await step(shutdown, for_ever())
        await shutdown.within_grace(for_ever())
        await shutdown.unless_hurried(for_ever())

    assert shutdown.requested.is_set()


async def test_further_signals_while_a_step_that_was_cut_short_tidies_up_are_no_trouble() -> None:
    shutdown, is_tidy = begun(LONG_MS), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def tidies_up() -> None:
        try:
            await for_ever()
        finally:
            loop.call_soon(shutdown.request)
            await asyncio.sleep(0.02)
            is_tidy.set()

    faults: list[object] = []
    loop.set_exception_handler(lambda _, context: faults.append(context))
    loop.call_later(0.02, shutdown.request)

    await shutdown.within_grace(tidies_up())

    assert is_tidy.is_set()
    assert faults == []


async def test_a_step_with_a_bound_of_its_own_outlasts_the_grace() -> None:
    shutdown, is_over = begun(grace_ms=0), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, is_over.set)

    async def wait() -> None:
        await is_over.wait()

    await shutdown.unless_hurried(wait())

    assert is_over.is_set()
    await shutdown.unless_hurried(nothing())


async def test_a_pause_ends_when_the_end_is_requested() -> None:
    shutdown = Shutdown(LONG_MS)
    asyncio.get_running_loop().call_later(0.01, shutdown.request)

    assert await seconds_of(shutdown.pause(0.001)) < 10
    assert await seconds_of(shutdown.pause(60)) < 10


async def test_what_is_waited_for_at_the_start_ends_when_the_end_is_requested() -> None:
    shutdown = Shutdown(LONG_MS)
    asyncio.get_running_loop().call_soon(shutdown.request)

    await shutdown.unless_requested(for_ever())

    assert shutdown.requested.is_set()


async def test_what_is_waited_for_at_the_start_ends_by_itself() -> None:
    shutdown = Shutdown(LONG_MS)

    await shutdown.unless_requested(nothing())

    assert not shutdown.requested.is_set()
