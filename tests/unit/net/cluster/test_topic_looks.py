"""When the cluster is looked at: every so often, soon after a reason, rarely while it is away, never for nothing."""

import asyncio
from collections.abc import Collection
from itertools import pairwise

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.net.backoff import JITTER
from kproxy.net.cluster.topic_looks import LEAST_INTERVAL_MS, ClusterLooks
from kproxy.net.deadlines import MonotonicClock

NEVER_MS = 300_000


class Looked:
    """What `ClusterLooks` does; each look can be waited for."""

    def __init__(self, *, interval_ms: int = NEVER_MS) -> None:
        self.clock = MonotonicClock()
        self.names: frozenset[str] = frozenset({"orders"})
        self.is_away = False
        self.is_settled = True
        self.fault: Exception | None = None
        self.began_ms: list[int] = []
        self._looked = asyncio.Semaphore(0)
        self.looks = ClusterLooks(self._look, self.wanted, clock=self.clock, interval_ms=interval_ms)

    async def until_looked(self, times: int = 1) -> None:
        for _ in range(times):
            await self._looked.acquire()

    async def wanted(self) -> frozenset[str]:
        return self.names

    async def _look(self, names: Collection[str]) -> bool:
        assert names is self.names
        self.began_ms.append(self.clock.now_ms())
        self._looked.release()
        if self.fault is not None:
            raise self.fault
        if self.is_away:
            raise BrokerUnavailable("nobody is there")
        return self.is_settled


async def test_the_cluster_is_looked_at_at_once_and_then_every_interval() -> None:
    looked = Looked(interval_ms=LEAST_INTERVAL_MS)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(looked.looks.run())
        await looked.until_looked(3)
        running.cancel()


async def test_a_storm_of_reasons_shares_looks_that_keep_their_distance() -> None:
    # Given
    looked = Looked(interval_ms=NEVER_MS)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(looked.looks.run())
        await looked.until_looked()

        # When
        for _ in range(3):
            for _ in range(1_000):
                looked.looks.look_soon()
                await asyncio.sleep(0)
            await looked.until_looked()
        running.cancel()

    # Then
    distances = [later - sooner for sooner, later in pairwise(looked.began_ms)]
    assert len(distances) == 3
    assert min(distances) >= LEAST_INTERVAL_MS - 1


async def test_a_reason_that_comes_during_a_look_is_a_reason_for_the_next_one() -> None:
    # Given
    looked = Looked(interval_ms=NEVER_MS)
    is_let_go = asyncio.Event()

    async def slowly(_: Collection[str]) -> bool:
        looked.began_ms.append(looked.clock.now_ms())
        looked._looked.release()
        return await is_let_go.wait()

    looks = ClusterLooks(slowly, looked.wanted, clock=looked.clock, interval_ms=NEVER_MS)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(looks.run())
        await looked.until_looked()

        # When
        looks.look_soon()
        is_let_go.set()

        # Then
        await looked.until_looked()
        running.cancel()


async def test_without_topics_nobody_is_asked() -> None:
    # Given
    looked = Looked(interval_ms=LEAST_INTERVAL_MS)
    looked.names = frozenset()
    asked_for_names = asyncio.Semaphore(0)

    async def no_names() -> frozenset[str]:
        asked_for_names.release()
        return looked.names

    looks = ClusterLooks(looked._look, no_names, clock=looked.clock, interval_ms=LEAST_INTERVAL_MS)
    async with asyncio.TaskGroup() as tasks:
        # When
        running = tasks.create_task(looks.run())
        for _ in range(3):
            await asked_for_names.acquire()
        running.cancel()

    # Then
    assert looked.began_ms == []


async def test_while_the_cluster_is_away_the_pauses_grow_whatever_the_reasons_to_look() -> None:
    # Given
    looked = Looked(interval_ms=LEAST_INTERVAL_MS)
    looked.is_away = True
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(looked.looks.run())

        # When
        for _ in range(4):
            await looked.until_looked()
            looked.looks.look_soon()
        running.cancel()

    # Then
    _, _, last = (later - sooner for sooner, later in pairwise(looked.began_ms))
    assert last >= (1 - JITTER) * 4 * LEAST_INTERVAL_MS - 1


async def test_while_brokers_disagree_they_are_looked_at_soon_again_and_then_less_and_less_often() -> None:
    # Given
    looked = Looked(interval_ms=NEVER_MS)
    looked.is_settled = False
    async with asyncio.TaskGroup() as tasks:
        # When
        running = tasks.create_task(looked.looks.run())
        await looked.until_looked(4)
        running.cancel()

    # Then
    first, second, third = (later - sooner for sooner, later in pairwise(looked.began_ms))
    assert first >= LEAST_INTERVAL_MS - 1
    assert second >= 2 * LEAST_INTERVAL_MS - 1
    assert third >= 4 * LEAST_INTERVAL_MS - 1


async def test_a_look_that_ends_in_a_fault_is_not_the_last_one(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    looked = Looked(interval_ms=LEAST_INTERVAL_MS)
    looked.fault = LookupError("nobody thought of it")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(looked.looks.run())
        await looked.until_looked()

        # When
        looked.fault = None

        # Then
        await looked.until_looked()
        running.cancel()
    assert "look_failed" in caplog.text
    assert "nobody thought of it" in caplog.text


async def test_a_fault_of_who_names_the_topics_does_not_end_the_looks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    looked, faults = Looked(), [LookupError("nobody thought of it")]

    async def names() -> Collection[str]:
        if faults:
            raise faults.pop()
        return looked.names

    looks = ClusterLooks(looked._look, names, clock=looked.clock, interval_ms=LEAST_INTERVAL_MS)
    async with asyncio.TaskGroup() as tasks:
        # When
        running = tasks.create_task(looks.run())

        # Then
        await looked.until_looked()
        running.cancel()
    assert "look_failed" in caplog.text
