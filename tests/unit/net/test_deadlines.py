import asyncio
import logging
from collections.abc import Coroutine
from itertools import pairwise

import pytest

from kproxy.net import deadlines
from kproxy.net.deadlines import Deadlines, MonotonicClock, SystemWallClock
from kproxy.net.tasks import TaskKeeper
from tests.event_loops import BOTH_LOOPS


async def nothing() -> None:
    """Wait for nothing."""


class Source:
    """Something with deadlines: each is gone once `expire` was called at or after it."""

    def __init__(self, *deadlines_ms: int) -> None:
        self.deadlines_ms = sorted(deadlines_ms)
        self.expired_at_ms: list[int] = []
        self.is_faulty = False
        self.unanswered = 0
        self.is_done = asyncio.Event()

    def next_deadline_ms(self) -> int | None:
        if self.unanswered:
            self.unanswered -= 1
            raise RuntimeError("broken")
        return self.deadlines_ms[0] if self.deadlines_ms else None

    def expire(self, now_ms: int) -> Coroutine[object, object, None]:
        self.expired_at_ms.append(now_ms)
        if self.is_faulty and len(self.expired_at_ms) == 1:
            raise RuntimeError("broken")
        self.deadlines_ms = [deadline_ms for deadline_ms in self.deadlines_ms if deadline_ms > now_ms]
        if not self.deadlines_ms:
            self.is_done.set()
        return nothing()


class Ringing:
    def __init__(self) -> None:
        self.clock = MonotonicClock()
        self.tasks = TaskKeeper()
        self.deadlines = Deadlines(self.clock, self.tasks)

    async def close(self) -> None:
        self.deadlines.close()
        await self.tasks.close()


def test_the_monotonic_clock_counts_milliseconds_forwards() -> None:
    clock = MonotonicClock()
    earlier_ms = clock.now_ms()
    assert 0 <= clock.now_ms() - earlier_ms < 10_000


def test_the_wall_clock_counts_from_the_epoch() -> None:
    assert SystemWallClock().now_ms() > 1_600_000_000_000


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
async def test_a_source_is_expired_at_its_deadlines_and_never_before() -> None:
    # Given
    ringing = Ringing()
    now_ms = ringing.clock.now_ms()
    source = Source(now_ms + 20, now_ms + 40)

    # When
    ringing.deadlines.add(source)

    # Then
    await source.is_done.wait()
    # Once in all where the machine stood still for so long that both were over.
    assert now_ms + 20 <= source.expired_at_ms[0]
    assert now_ms + 40 <= source.expired_at_ms[-1]
    assert len(source.expired_at_ms) <= 2
    await ringing.close()


async def test_a_new_deadline_that_is_earlier_moves_the_timer_forward() -> None:
    # Given
    ringing = Ringing()
    now_ms = ringing.clock.now_ms()
    source = Source(now_ms + 60_000)
    ringing.deadlines.add(source)
    source.deadlines_ms = [now_ms + 10]

    # When
    ringing.deadlines.ring_by(now_ms + 10)

    # Then
    await source.is_done.wait()
    await ringing.close()


async def test_a_later_deadline_does_not_move_the_timer_back() -> None:
    # Given
    ringing = Ringing()
    now_ms = ringing.clock.now_ms()
    source = Source(now_ms + 10)
    ringing.deadlines.add(source)

    # When
    ringing.deadlines.ring_by(now_ms + 60_000)

    # Then
    await source.is_done.wait()
    await ringing.close()


async def test_a_source_that_is_not_due_is_left_alone() -> None:
    # Given
    ringing = Ringing()
    now_ms = ringing.clock.now_ms()
    due, later = Source(now_ms + 10), Source(now_ms + 60_000)

    # When
    ringing.deadlines.add(later)
    ringing.deadlines.add(due)

    # Then
    await due.is_done.wait()
    assert later.expired_at_ms == []
    await ringing.close()


async def test_a_source_that_raises_is_logged_and_the_others_are_expired(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        # Given
        ringing = Ringing()
        now_ms = ringing.clock.now_ms()
        faulty, sound = Source(now_ms), Source(now_ms)
        faulty.is_faulty = True

        # When
        ringing.deadlines.add(faulty)
        ringing.deadlines.add(sound)

        # Then
        await sound.is_done.wait()
        await faulty.is_done.wait()
        await ringing.close()
    assert [record.msg for record in caplog.records] == ["task_fault"]


async def test_a_source_that_cannot_say_its_deadline_is_asked_again_and_the_others_are_expired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deadlines, "FAULT_PAUSE_SECONDS", 0.01)

    # Given
    ringing = Ringing()
    now_ms = ringing.clock.now_ms()
    faulty, sound = Source(now_ms), Source(now_ms)
    faulty.unanswered = 3

    # When
    ringing.deadlines.add(faulty)
    ringing.deadlines.add(sound)

    # Then
    await sound.is_done.wait()
    await faulty.is_done.wait()
    await ringing.close()


async def test_what_an_expiry_waits_for_holds_up_neither_its_source_nor_the_others() -> None:
    # Given
    class Waiting(Source):
        async def durable(self) -> None:
            await asyncio.Event().wait()

        def expire(self, now_ms: int) -> Coroutine[object, object, None]:
            super().expire(now_ms).close()
            return self.durable()

    ringing = Ringing()
    now_ms = ringing.clock.now_ms()
    waiting, other = Waiting(now_ms, now_ms + 20), Source(now_ms + 10)
    ringing.deadlines.add(waiting)

    # When
    ringing.deadlines.add(other)

    # Then
    await other.is_done.wait()
    await waiting.is_done.wait()
    assert len(waiting.expired_at_ms) == 2
    await ringing.close()


async def test_a_source_whose_deadline_never_moves_does_not_keep_the_loop_busy() -> None:
    # Given
    class Stuck(Source):
        def expire(self, now_ms: int) -> Coroutine[object, object, None]:
            self.expired_at_ms.append(now_ms)
            if len(self.expired_at_ms) == 4:
                self.is_done.set()
            return nothing()

    ringing = Ringing()
    source = Stuck(0)

    # When
    ringing.deadlines.add(source)

    # Then
    await source.is_done.wait()
    pauses_ms = [later - earlier for earlier, later in pairwise(source.expired_at_ms)]
    assert min(pauses_ms) >= 5
    await ringing.close()


async def test_nothing_rings_after_close() -> None:
    # Given
    ringing, other = Ringing(), Ringing()
    source, later = Source(ringing.clock.now_ms() + 1), Source(ringing.clock.now_ms() + 20)
    ringing.deadlines.add(source)
    other.deadlines.add(later)

    # When
    ringing.deadlines.close()
    ringing.deadlines.ring_by(ringing.clock.now_ms())

    # Then
    await later.is_done.wait()
    assert source.expired_at_ms == []
    await ringing.close()
    await other.close()
