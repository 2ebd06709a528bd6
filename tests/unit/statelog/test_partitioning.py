"""Partitions are those of the stock coordinators: Java's hash of the text."""

import tracemalloc

import pytest

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


def test_a_long_group_id_is_hashed_once_for_all_share_partitions_of_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may have 32,767 bytes, which takes two milliseconds, and a request may name thousands of partitions."""
    # Given
    group_id = GroupId("a group that is hashed once ".ljust(32_000, "x"))
    hashed_lengths: list[int] = []
    plain_hash = partitioning._hash

    def counted_hash(text: str) -> int:
        hashed_lengths.append(len(text))
        return plain_hash(text)

    monkeypatch.setattr(partitioning, "_hash", counted_hash)

    # When
    for _ in range(3):
        group_partition(group_id, 50)
        for number in range(100):
            group_partition(GroupId(f"one of the short ids beside it: {number}"), 50)

    # Then
    assert hashed_lengths.count(len(group_id)) == 1


def test_long_group_ids_are_hashed_once_however_many_are_looked_up_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever goes through all groups, or all locks that end, comes by each of them again and again."""
    # Given
    group_ids = [GroupId(f"one of many long ones {number:04} ".ljust(2_000, "x")) for number in range(300)]
    hashed: list[str] = []
    plain_hash = partitioning._hash

    def counted_hash(text: str) -> int:
        hashed.append(text)
        return plain_hash(text)

    monkeypatch.setattr(partitioning, "_hash", counted_hash)

    # When
    rounds = [[group_partition(group_id, 50) for group_id in group_ids] for _ in range(3)]

    # Then
    assert hashed == group_ids
    assert rounds[0] == rounds[1] == rounds[2]


def test_of_many_long_group_ids_that_are_looked_up_only_a_few_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(partitioning, "_hash", len)
    tracemalloc.start()

    # When
    for number in range(100):
        group_partition(GroupId(f"one of those that are not kept {number:03} ".ljust(30_000, "x")), 50)

    # Then
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 50 * 30_000


def test_a_group_id_that_was_hashed_for_one_topic_is_hashed_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a slot that is loaded are hashed bit by bit before anybody looks for their slots."""
    # Given
    group_partition(GroupId("a group of its own"), 1)
    monkeypatch.setattr(partitioning, "_hash", None)

    # When
    place = group_partition(GroupId("a group of its own"), 50)

    # Then
    assert 0 <= place < 50
