"""A kproxy that notes what its members acquire leaves nothing out, and does what it would do."""

from pathlib import Path

import pytest

from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, TopicId
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition
from tests.real_kafka.acquisitions import (
    FILE_VARIABLE,
    Acquisition,
    last_acquired_at,
    note_acquisitions,
    read_acquisitions,
    times_of_acquisition,
)

TOPIC_ID = bytes(15) + b"\7"
NAMES = {TOPIC_ID: "topic"}


def acquired(at: float, first: int, last: int) -> Acquisition:
    return Acquisition(at, "group", TOPIC_ID, 3, first, last, 1)


def test_what_is_acquired_is_written_down_and_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "notes"))
    monkeypatch.setattr(SharePartition, "acquire", SharePartition.acquire)
    note_acquisitions()
    key = SharePartitionKey(GroupId("group"), TopicId(TOPIC_ID), 3)
    partition = SharePartition(key, start_offset=5, state_batches=(), limits=ShareLimits())

    # When
    returned = partition.acquire(
        MemberId("alice"),
        [(5, 9)],
        fetch_offset=5,
        max_records=100,
        batch_size=100,
        is_record_limit=False,
        now_ms=0,
    )

    # Then
    [noted] = read_acquisitions(tmp_path / "notes")
    assert returned == [AcquiredRange(5, 9, 1)]
    assert noted == acquired(noted.at, 5, 9)


def test_of_two_acquisitions_of_a_record_the_last_one_counts() -> None:
    found = last_acquired_at([acquired(2.0, 6, 7), acquired(1.0, 5, 6)], NAMES)
    assert found == {("topic", 3, 5): 1.0, ("topic", 3, 6): 2.0, ("topic", 3, 7): 2.0}


def test_of_each_record_every_acquisition_is_told_in_order() -> None:
    found = times_of_acquisition([acquired(2.0, 6, 7), acquired(1.0, 5, 6)], NAMES)
    assert found == {("topic", 3, 5): [1.0], ("topic", 3, 6): [1.0, 2.0], ("topic", 3, 7): [2.0]}


def test_topics_without_a_name_are_passed_over() -> None:
    assert last_acquired_at([acquired(2.0, 6, 7)], {}) == {}
