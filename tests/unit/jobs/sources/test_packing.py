from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.sources.packing import packed

MOST_TOGETHER = 250_000
WORTH_A_TASK = 10_000
LENGTHS = st.one_of(st.integers(0, 50), st.integers(0, 20_000), st.integers(0, 600_000))


def logs(lengths: st.SearchStrategy[int]) -> st.SearchStrategy[list[LogRange]]:
    return st.lists(st.tuples(st.integers(0, 1000), lengths), max_size=60).map(
        lambda sizes: [
            LogRange(number, first, first + length) for number, (first, length) in enumerate(sizes)
        ]
    )


RANGES = logs(LENGTHS)
SMALL_LOGS = logs(st.integers(0, MOST_TOGETHER // 60))
SLOTS = st.integers(1, 64)


def load_of(task: Sequence[LogRange]) -> int:
    return sum(part.length for part in task)


@given(ranges=RANGES, slots=SLOTS)
def test_every_range_that_has_offsets_is_in_one_task_and_whole(ranges: list[LogRange], slots: int) -> None:
    # When
    tasks = packed(ranges, slots=slots)

    # Then
    assert Counter(part for task in tasks for part in task) == Counter(part for part in ranges if part.length)
    assert all(tasks)


@given(ranges=RANGES, slots=SLOTS)
def test_a_task_reads_its_ranges_in_the_order_of_the_log(ranges: list[LogRange], slots: int) -> None:
    # When
    tasks = packed(ranges, slots=slots)

    # Then
    assert all(task == sorted(task) for task in tasks)


@given(ranges=RANGES, slots=SLOTS)
def test_a_task_of_several_ranges_is_never_big(ranges: list[LogRange], slots: int) -> None:
    # When
    tasks = packed(ranges, slots=slots)

    # Then
    assert all(len(task) == 1 or load_of(task) <= MOST_TOGETHER for task in tasks)


@given(ranges=RANGES, slots=SLOTS)
def test_a_range_as_long_as_the_share_of_a_task_has_one_of_its_own(
    ranges: list[LogRange], slots: int
) -> None:
    # When
    tasks = packed(ranges, slots=slots)

    # Then
    share = max(WORTH_A_TASK, sum(map(load_of, tasks)) // (2 * slots))
    is_long = [part.length >= min(share, MOST_TOGETHER) for task in tasks if len(task) > 1 for part in task]
    assert not any(is_long)


@given(ranges=SMALL_LOGS, slots=SLOTS)
def test_tasks_are_as_even_as_their_ranges_allow(ranges: list[LogRange], slots: int) -> None:
    # When
    tasks = packed(ranges, slots=slots)

    # Then
    shared = [task for task in tasks if len(task) > 1]
    least = min(map(load_of, shared), default=0)
    assert all(load_of(task) - min(part.length for part in task) <= least for task in shared)


@given(ranges=RANGES, slots=SLOTS)
def test_there_are_no_more_tasks_than_keep_every_core_busy(ranges: list[LogRange], slots: int) -> None:
    # When
    tasks = packed(ranges, slots=slots)

    # Then
    for_size = 2 * sum(map(load_of, tasks)) // MOST_TOGETHER
    assert len(tasks) <= 2 * slots + 1 + for_size


@given(ranges=RANGES, slots=SLOTS, most=st.integers(1_000, 100_000))
def test_a_range_is_cut_where_a_task_may_read_no_more(ranges: list[LogRange], slots: int, most: int) -> None:
    # When
    tasks = packed(ranges, slots=slots, most_per_task=most)

    # Then
    parts = sorted(part for task in tasks for part in task)
    whole = sorted(part for each in ranges for part in each.parts(most))
    assert parts == whole
    assert all(load_of(task) <= most for task in tasks)


def test_the_small_partitions_of_a_log_are_read_by_a_few_tasks() -> None:
    # Given
    small = [LogRange(number, 0, 100) for number in range(49)]
    big = LogRange(49, 0, 300_000)

    # When
    tasks = packed([*small, big], slots=2)

    # Then
    assert tasks == [small, [big]]


def test_a_log_that_is_read_in_no_time_is_read_by_one_task() -> None:
    # When
    tasks = packed([LogRange(number, 0, 100) for number in range(50)], slots=16)

    # Then
    assert len(tasks) == 1
