"""What is remembered of keys, and what is not."""

import tracemalloc

import pytest

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.statelog.short_keys import (
    LONGEST_REMEMBERED,
    SharedGroupIds,
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


LONG = "g" * (LONGEST_REMEMBERED + 1)


def a_key(group_id: str, partition: int) -> SharePartitionKey:
    return SharePartitionKey(GroupId(group_id), TopicId(b"t" * 16), partition)


def decoded(group_id: str) -> str:
    """Return an equal text that is another object."""
    return group_id.encode().decode()


def test_keys_of_a_group_with_a_long_id_that_are_kept_have_one_text() -> None:
    # Given
    shared = SharedGroupIds()
    keys = [a_key(decoded(LONG), partition) for partition in range(3)]

    # When
    kept = [shared.keep(key) for key in keys]

    # Then
    assert kept == keys
    assert len({id(key.group_id) for key in keys}) == 3
    assert len({id(key.group_id) for key in kept}) == 1


def test_the_text_goes_with_the_last_key_of_its_group() -> None:
    # Given
    shared = SharedGroupIds()
    for partition in range(2):
        shared.keep(a_key(decoded(LONG), partition))
    shared.keep(a_key("short", 0))

    # When
    shared.drop(a_key(decoded(LONG), 0))
    with_one_left = len(shared)
    shared.drop(a_key(decoded(LONG), 1))
    shared.drop(a_key("short", 0))

    # Then
    assert (with_one_left, len(shared)) == (1, 0)
