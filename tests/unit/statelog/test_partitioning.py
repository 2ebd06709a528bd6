"""Partitions are those of the stock coordinators: Java's hash of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.statelog import partitioning
from kproxy.statelog.partitioning import group_partition, spread_partition


def test_the_state_of_a_share_partition_lies_where_kafka_puts_it() -> None:
    key = SharePartitionKey(GroupId("gs1"), TopicId(bytes(15) + b"\x01"), 0)
    assert str(key) == "gs1:AAAAAAAAAAAAAAAAAAAAAQ:0"
    assert spread_partition(key, 50) == 45


@pytest.mark.parametrize(
    ("group", "partition_count", "expected"),
    [
        ("abc", 1_000_000, 96_354),
        ("", 50, 0),
        # A negative hash: "polygenelubricants" is the well-known text whose hash is the lowest integer there is.
        ("polygenelubricants", 50, 0),
        ("orders-group", 2**31, 403_968_617),
        ("\U0001f600", 2**31, 1_772_899),
    ],
)
def test_a_group_lies_where_kafka_puts_it(group: str, partition_count: int, expected: int) -> None:
    assert group_partition(GroupId(group), partition_count) == expected


@given(
    st.text(max_size=300),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**31 - 1),
    st.integers(1, 2**31 - 1),
)
def test_a_share_partition_lies_where_its_text_would(
    group: str, topic_id: bytes, number: int, partition_count: int
) -> None:
    """What the share-partitions of a topic have in common is hashed once."""
    key = SharePartitionKey(GroupId(group), TopicId(topic_id), number)

    assert spread_partition(key, partition_count) == group_partition(GroupId(str(key)), partition_count)


def test_a_long_group_id_is_hashed_once_for_all_share_partitions_of_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may have 32,767 bytes, which takes two milliseconds, and a request may name thousands of partitions."""
    # Given
    group_id = GroupId("a group that is hashed once ".ljust(32_000, "x"))
    hashed_lengths: list[int] = []
    plain_hash = partitioning._hash

    def counted_hash(text: str, before: int = 0) -> int:
        hashed_lengths.append(len(text))
        return plain_hash(text, before)

    monkeypatch.setattr(partitioning, "_hash", counted_hash)

    # When
    for number in range(100):
        spread_partition(SharePartitionKey(group_id, TopicId(bytes((number,)) * 16), number), 50)
        group_partition(GroupId(str(group_id)), 50)

    # Then
    assert sum(hashed_lengths) < 2 * len(group_id)
