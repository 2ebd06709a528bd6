"""How late the event loop is."""

import asyncio
import time

from kproxy.application.process.loop_lag import EVERY_SECONDS, LoopLag
from tests.in_memory.recording_observer import RecordingObserver
from tests.worlds.waiting import until


async def test_a_loop_that_was_held_up_says_for_how_long() -> None:
    # Given
    observer = RecordingObserver()
    lags = observer.observations["event_loop_lag_seconds",]
    watch = asyncio.get_running_loop().create_task(LoopLag(observer).run())
    await asyncio.sleep(0)

    # When
    time.sleep(3 * EVERY_SECONDS)  # noqa: ASYNC251 - blocking the loop is what this is about
    await until(lambda: len(lags) >= 6)
    watch.cancel()

    # Then
    assert lags[0] > 1.5 * EVERY_SECONDS
    assert min(lags[1:]) < lags[0]


async def test_a_timer_that_rings_early_is_not_late() -> None:
    # Given
    observer = RecordingObserver()
    lags = observer.observations["event_loop_lag_seconds",]
    watch = asyncio.get_running_loop().create_task(LoopLag(observer, seconds=lambda: 7.0).run())

    # When
    await until(lambda: bool(lags))
    watch.cancel()

    # Then
    assert lags == [0.0]
