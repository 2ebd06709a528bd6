"""When all objects are looked through for cycles."""

import asyncio
import gc

from kproxy.application.full_collections import (
    IDLE_SHARE,
    LEAST_BETWEEN,
    MOST_BETWEEN,
    FullCollections,
)

PASSED_SECONDS = 4.0


class Process:
    """One that uses as much time, and makes as many objects, as a test says."""

    def __init__(self) -> None:
        self.used_seconds = 100.0
        self.middle_count = 0
        self.collections = 0
        self.full = FullCollections(
            collect=self._collect,
            middle_count=lambda: self.middle_count,
            cpu_seconds=lambda: self.used_seconds,
        )

    def pass_time(self, *, used_share: float, middle_count: int) -> None:
        self.used_seconds += used_share * PASSED_SECONDS
        self.middle_count += middle_count
        self.full.look(PASSED_SECONDS)

    def _collect(self) -> None:
        self.collections += 1
        self.middle_count = 0


def test_all_objects_are_looked_through_when_there_is_time_and_not_in_the_middle_of_work() -> None:
    # Given
    process = Process()
    process.pass_time(used_share=1, middle_count=LEAST_BETWEEN)
    process.pass_time(used_share=IDLE_SHARE, middle_count=LEAST_BETWEEN)
    before = process.collections

    # When
    process.pass_time(used_share=IDLE_SHARE / 2, middle_count=0)

    # Then
    assert (before, process.collections) == (0, 1)


def test_few_new_objects_are_not_worth_it() -> None:
    process = Process()

    process.pass_time(used_share=0, middle_count=LEAST_BETWEEN - 1)

    assert process.collections == 0


def test_very_many_new_objects_do_not_wait_for_a_better_time() -> None:
    process = Process()

    for _ in range(MOST_BETWEEN):
        process.pass_time(used_share=1, middle_count=1)

    assert process.collections == 1


async def test_cpython_begins_no_full_collection_by_itself_until_it_ends() -> None:
    # Given
    before, full_before = gc.get_threshold(), gc.get_stats()[2]["collections"]
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(FullCollections().run())
        await asyncio.sleep(0)
        gc.set_threshold(10, 1, gc.get_threshold()[2])

        # When
        kept = [[number] for number in range(200_000)]

        # Then
        assert gc.get_stats()[2]["collections"] == full_before
        assert len(kept) == 200_000
        task.cancel()
    assert gc.get_threshold() == before
