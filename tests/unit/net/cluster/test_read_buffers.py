import asyncio
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.net.cluster.read_buffers import MOST_BUFFERS, SMALLEST_BYTES, UNUSED_SECONDS, ReadBuffers

MOST_BYTES: Final = 4 * SMALLEST_BYTES

sizes = st.integers(min_value=1, max_value=2 * MOST_BYTES)


class Later:
    """Takes the event loop's place: what is to be called is called by the test."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, callback: Callable[[], None]) -> None:
        self.waiting.append((seconds, callback))

    def pass_time(self) -> None:
        waiting, self.waiting = self.waiting, []
        for _, callback in waiting:
            callback()


def read_buffers(most_bytes: int = MOST_BYTES) -> ReadBuffers:
    return ReadBuffers(most_bytes=most_bytes, call_later=Later())


@given(steps=st.lists(st.tuples(sizes, st.booleans()), max_size=30))
@settings(max_examples=50)
def test_what_somebody_looks_at_is_nobody_elses_and_what_is_kept_is_bounded(
    steps: list[tuple[int, bool]],
) -> None:
    # Given
    buffers = read_buffers()
    looked_at: list[tuple[int, memoryview]] = []

    # When
    for number, (size_bytes, is_released) in enumerate(steps):
        taken = buffers.take(size_bytes)
        assert len(taken) == size_bytes
        taken[:1] = taken[-1:] = bytes([number])
        if not is_released:
            looked_at.append((number, taken))
        assert buffers.kept_bytes <= MOST_BYTES

    # Then
    assert all(view[0] == view[-1] == number for number, view in looked_at)


@pytest.mark.parametrize("second_bytes", [SMALLEST_BYTES, SMALLEST_BYTES + 100])
def test_memory_is_used_again_once_the_last_view_of_a_part_of_it_is_gone(second_bytes: int) -> None:
    # Given
    buffers = read_buffers()
    memory = buffers.take(SMALLEST_BYTES + 50).obj
    part = memoryview(memory)[10:20]
    meanwhile = buffers.take(SMALLEST_BYTES)

    # When
    part.release()
    again = buffers.take(second_bytes)

    # Then
    assert meanwhile.obj is not memory
    assert again.obj is memory


def test_of_several_free_ones_the_one_that_was_taken_last_is_used_again() -> None:
    # Given
    buffers = read_buffers()
    first, second = buffers.take(SMALLEST_BYTES), buffers.take(SMALLEST_BYTES)
    latest = second.obj
    first.release()
    second.release()

    # When
    again = buffers.take(SMALLEST_BYTES)

    # Then
    assert again.obj is latest


def test_a_small_answer_does_not_occupy_the_memory_of_a_large_one() -> None:
    # Given
    buffers = read_buffers()
    large = buffers.take(3 * SMALLEST_BYTES).obj

    # When
    small = buffers.take(SMALLEST_BYTES)

    # Then
    assert small.obj is not large


def test_small_memory_is_not_kept() -> None:
    # Given
    buffers = read_buffers()

    # When
    buffers.take(SMALLEST_BYTES - 1)

    # Then
    assert buffers.kept_bytes == 0


def test_what_is_needed_beyond_the_bound_is_lent_and_not_kept() -> None:
    # Given
    buffers = read_buffers()
    in_use = [buffers.take(MOST_BYTES // 2) for _ in range(2)]

    # When
    one_more = buffers.take(MOST_BYTES // 2)

    # Then
    assert len(one_more) == MOST_BYTES // 2
    assert buffers.kept_bytes == sum(map(len, in_use))


def test_no_more_than_so_many_are_kept_however_small_they_are() -> None:
    # Given
    buffers = read_buffers(most_bytes=10 * MOST_BUFFERS * SMALLEST_BYTES)

    # When
    in_use = [buffers.take(SMALLEST_BYTES) for _ in range(MOST_BUFFERS + 3)]

    # Then
    assert buffers.kept_bytes == sum(map(len, in_use[:MOST_BUFFERS]))


def test_free_memory_of_the_wrong_size_makes_room() -> None:
    # Given
    buffers = read_buffers()
    buffers.take(MOST_BYTES)

    # When
    buffers.take(SMALLEST_BYTES)

    # Then
    assert buffers.kept_bytes == SMALLEST_BYTES


def test_what_was_not_used_for_a_while_is_dropped_and_then_nobody_looks_any_more() -> None:
    # Given
    later = Later()
    buffers = ReadBuffers(call_later=later)
    buffers.take(SMALLEST_BYTES)
    later.pass_time()
    kept_at_first = buffers.kept_bytes

    # When
    later.pass_time()

    # Then
    assert kept_at_first == SMALLEST_BYTES
    assert buffers.kept_bytes == 0
    assert later.waiting == []


def test_what_is_in_use_or_was_used_meanwhile_stays() -> None:
    # Given
    later = Later()
    buffers = ReadBuffers(call_later=later)
    in_use = buffers.take(4 * SMALLEST_BYTES)
    later.pass_time()
    buffers.take(SMALLEST_BYTES)

    # When
    later.pass_time()

    # Then
    assert buffers.kept_bytes == len(in_use) + SMALLEST_BYTES
    assert len(later.waiting) == 1


async def test_the_event_loop_is_what_looks_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    later = Later()
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", later)

    # When
    ReadBuffers().take(SMALLEST_BYTES)
    monkeypatch.undo()

    # Then
    assert [seconds for seconds, _ in later.waiting] == [UNUSED_SECONDS]
