"""Partitions are those of the stock coordinators: Java's hash of the text."""

import pytest

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.statelog.partitioning import group_partition, state_partition


def test_a_share_partition_lies_where_kafka_puts_it() -> None:
    key = SharePartitionKey(GroupId("gs1"), TopicId(bytes(15) + b"\x01"), 0)
    assert str(key) == "gs1:AAAAAAAAAAAAAAAAAAAAAQ:0"
    assert state_partition(key, 50) == 45


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
