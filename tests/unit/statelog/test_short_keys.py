"""What is remembered of keys, and what is not."""

import pytest

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.statelog.short_keys import LONGEST_REMEMBERED, remember_short_keys, remember_short_texts


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
