"""What is remembered of keys, and what is not."""

import tracemalloc

import pytest

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.statelog.short_keys import (
    LONGEST_REMEMBERED,
    remember_by_digest,
    remember_short_keys,
    remember_short_texts,
)


@pytest.mark.parametrize(
    ("text", "made_count"),
    [
        ("g" * LONGEST_REMEMBERED, 1),
        ("g" * (LONGEST_REMEMBERED + 1), 2),
        (b"g" * LONGEST_REMEMBERED, 1),
        (b"g" * (LONGEST_REMEMBERED + 1), 2),
        (None, 1),
    ],
    ids=["text", "long_text", "bytes", "long_bytes", "none"],
)
def test_what_is_made_of_a_short_text_is_remembered_and_of_a_long_one_made_again(
    text: str | bytes | None, made_count: int
) -> None:
    # Given
    made: list[object] = []

    @remember_short_texts(maxsize=8)
    def make(text: str | bytes | None) -> int:
        made.append(text)
        return len(made)

    # When
    results = [make(text), make(text)]

    # Then
    assert results == [1, made_count]


@pytest.mark.parametrize(("length", "made_count"), [(LONGEST_REMEMBERED, 1), (LONGEST_REMEMBERED + 1, 2)])
def test_of_a_share_partition_the_group_id_counts(length: int, made_count: int) -> None:
    # Given
    made: list[object] = []

    @remember_short_keys(maxsize=8)
    def make(key: SharePartitionKey, count: int) -> int:
        made.append(key)
        return len(made) * count

    key = SharePartitionKey(GroupId("g" * length), TopicId(b"t" * 16), 0)

    # When
    results = [make(key, 3), make(key, 3)]

    # Then
    assert results == [3, 3 * made_count]


def test_what_is_made_of_texts_of_any_length_is_remembered_until_so_many_others_were_made() -> None:
    # Given
    made: list[str] = []

    @remember_by_digest(maxsize=2)
    def make(text: str) -> int:
        made.append(text)
        return len(text)

    first, second, third = ("g" * 32_767, "h" * 32_766, "\ud800" * 9)

    # When
    results = [make(text) for text in (first, second, first, third, first, second)]

    # Then
    assert results == [32_767, 32_766, 32_767, 9, 32_767, 32_766]
    assert made == [first, second, third, second]


def test_of_a_text_whose_result_is_remembered_by_its_digest_nothing_else_is_kept() -> None:
    # Given
    @remember_by_digest(maxsize=1_000)
    def make(text: str) -> int:
        return len(text)

    make("before")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]

    # When
    for number in range(500):
        make(f"{number:05}".ljust(32_000, "x"))

    # Then
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert kept < 500 * 400
