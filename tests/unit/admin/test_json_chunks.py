from collections.abc import Iterator

import pytest

from kproxy.admin.json_chunks import (
    CHUNK_LENGTH,
    SLICE_S,
    LongAnswers,
    TooLong,
    TooManyStreams,
    chunks,
    gathered,
)


def a_clock(*readings_s: float) -> Iterator[float]:
    return iter(readings_s)


def test_small_pieces_are_joined_to_one_chunk() -> None:
    assert list(chunks(["a", "b", "ü"], now_s=lambda: 0.0)) == ["abü".encode()]


def test_a_chunk_ends_when_it_is_long_enough() -> None:
    # Given
    half = "x" * (CHUNK_LENGTH // 2)

    # When
    found = list(chunks([half] * 5, now_s=lambda: 0.0))

    # Then
    assert [len(chunk) for chunk in found] == [CHUNK_LENGTH, CHUNK_LENGTH, CHUNK_LENGTH // 2]


def test_a_chunk_ends_when_its_time_is_over() -> None:
    # Given
    clock = a_clock(0.0, SLICE_S / 2, SLICE_S, 1.0, 1.0)

    # When
    found = list(chunks(["a", "b", "c"], now_s=lambda: next(clock)))

    # Then
    assert found == [b"ab", b"c"]


def test_no_pieces_are_no_chunks() -> None:
    assert list(chunks([])) == []


def test_no_more_answers_than_allowed_are_under_way() -> None:
    # Given
    answers = LongAnswers(1)

    # When
    with answers.reserved(), pytest.raises(TooManyStreams) as refusal, answers.reserved():
        pass

    # Then
    assert str(refusal.value) == "1 long answers are being written already; try again"
    with answers.reserved():
        pass


async def test_an_answer_that_is_held_whole_is_all_of_its_pieces() -> None:
    assert await gathered((f"{n}," for n in range(100_000)), 1 << 20) == b"".join(
        b"%d," % n for n in range(100_000)
    )


async def test_an_answer_longer_than_may_be_held_is_refused_before_all_of_it_is_made() -> None:
    # Given
    made = 0

    def pieces() -> Iterator[str]:
        nonlocal made
        while True:
            made += CHUNK_LENGTH
            yield "x" * CHUNK_LENGTH

    # When
    with pytest.raises(TooLong) as refusal:
        await gathered(pieces(), 3 * CHUNK_LENGTH)

    # Then
    assert made <= 5 * CHUNK_LENGTH
    assert str(refusal.value) == (
        "what it has to tell is longer than 196608 bytes: ask its own admin port with scope=local"
    )
