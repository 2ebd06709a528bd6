"""When objects are looked through for cycles."""

import asyncio
import gc

from kproxy.application.full_collections import IDLE_SHARE, MOST_COUNTED_BYTES, MOST_NEW, FullCollections

PASSED_SECONDS = 4.0
LIMIT_BYTES = 1_000_000


class Process:
    """One that uses as much time and memory, and makes as many objects, as a test says."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.used_seconds = 100.0
        self.middle_count = 0
        self.resident_bytes = 0
        self.done: list[str] = []
        self.full = FullCollections(
            limit_bytes,
            collect=self._collect,
            freeze=self._freeze,
            unfreeze=lambda: self.done.append("unfreeze"),
            middle_count=lambda: self.middle_count,
            cpu_seconds=lambda: self.used_seconds,
            resident_bytes=lambda: self.resident_bytes,
        )

    def pass_time(self, *, used_share: float, middle_count: int = 0) -> list[str]:
        """Return what was done in the look behind it."""
        self.used_seconds += used_share * PASSED_SECONDS
        self.middle_count += middle_count
        self.done.clear()
        self.full.look(PASSED_SECONDS)
        return list(self.done)

    def _collect(self) -> int:
        self.done.append("collect")
        self.middle_count = 0
        return 0

    def _freeze(self) -> None:
        self.done.append("freeze")
        self.middle_count = 0


ALL = ["unfreeze", "collect", "freeze"]


def test_what_is_new_is_looked_through_when_there_is_time_and_never_again() -> None:
    process = Process()

    first = process.pass_time(used_share=IDLE_SHARE / 2, middle_count=MOST_NEW)
    then = process.pass_time(used_share=IDLE_SHARE / 2)

    assert (first, then) == (["collect", "freeze"], [])


def test_nothing_is_looked_through_in_the_middle_of_work() -> None:
    process = Process()

    done = process.pass_time(used_share=IDLE_SHARE, middle_count=1)

    assert done == ["freeze"]


def test_very_many_new_objects_are_not_looked_through_however_idle_the_process_is() -> None:
    process = Process()

    busy = process.pass_time(used_share=1, middle_count=1_000)
    idle = process.pass_time(used_share=0, middle_count=MOST_NEW + 1)

    assert (busy, idle) == (["freeze"], ["freeze"])


def test_all_objects_are_looked_through_when_half_of_the_memory_is_used_and_there_is_time() -> None:
    # Given
    process = Process()
    process.resident_bytes = LIMIT_BYTES // 2 - 1
    before = process.pass_time(used_share=0)
    process.resident_bytes += 1
    busy = process.pass_time(used_share=IDLE_SHARE)

    # When
    idle = process.pass_time(used_share=0)

    # Then
    assert (before, busy, idle) == ([], [], ALL)


def test_all_are_looked_through_again_only_when_an_eighth_more_is_used() -> None:
    # Given
    process = Process()
    process.resident_bytes = LIMIT_BYTES // 2
    process.pass_time(used_share=0)

    # When
    the_same = process.pass_time(used_share=0)
    process.resident_bytes += LIMIT_BYTES // 8 - 1
    little_more = process.pass_time(used_share=0)
    process.resident_bytes += 1
    an_eighth_more = process.pass_time(used_share=0)

    # Then
    assert (the_same, little_more, an_eighth_more) == ([], [], ALL)


def test_where_memory_is_about_to_end_there_is_no_waiting_for_time() -> None:
    process = Process()
    process.resident_bytes = LIMIT_BYTES * 3 // 4

    done = process.pass_time(used_share=1)

    assert done == ALL


def test_very_much_memory_is_not_filled_before_a_look() -> None:
    process = Process(limit_bytes=100 * MOST_COUNTED_BYTES)
    process.resident_bytes = MOST_COUNTED_BYTES // 2

    done = process.pass_time(used_share=0)

    assert done == ALL


def test_a_cycle_that_was_frozen_is_freed_when_memory_says_so() -> None:
    # Given
    freed: list[bool] = []

    class Held:
        def __init__(self) -> None:
            self.itself: Held | None = self

        def __del__(self) -> None:
            freed.append(True)

    used_bytes = 0
    full = FullCollections(LIMIT_BYTES, middle_count=lambda: 1, resident_bytes=lambda: used_bytes)
    held: Held | None = Held()
    full.look(PASSED_SECONDS)
    held = None
    gc.collect()
    freed_before = list(freed)
    used_bytes = LIMIT_BYTES

    # When
    full.look(PASSED_SECONDS)

    # Then
    assert held is None
    assert (freed_before, freed) == ([], [True])


async def test_cpython_begins_no_full_collection_by_itself_until_it_ends() -> None:
    # Given
    before, full_before = gc.get_threshold(), gc.get_stats()[2]["collections"]
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(FullCollections(LIMIT_BYTES).run())
        await asyncio.sleep(0)
        gc.set_threshold(10, 1, gc.get_threshold()[2])

        # When
        kept = [[number] for number in range(200_000)]

        # Then
        assert gc.get_stats()[2]["collections"] == full_before
        assert len(kept) == 200_000
        task.cancel()
    assert gc.get_threshold() == before


def test_what_was_much_memory_once_is_not_much_for_ever() -> None:
    # Given: nearly all of it was in use, and was alive
    process = Process()
    process.resident_bytes = LIMIT_BYTES * 9 // 10
    process.pass_time(used_share=IDLE_SHARE)
    process.resident_bytes = LIMIT_BYTES // 5
    process.pass_time(used_share=IDLE_SHARE)

    # When
    process.resident_bytes = LIMIT_BYTES * 8 // 10
    done = process.pass_time(used_share=IDLE_SHARE)

    # Then
    assert done == ALL
