"""What is in flight of each group, and for how long it is held."""

import asyncio

from kproxy.admin.activity.holdings import Holding, holdings
from kproxy.share.identifiers import GroupId
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import Inspectable, acquire


def test_a_group_holds_what_all_its_share_partitions_hold() -> None:
    # Given
    inspectable = Inspectable()
    acquire(inspectable.share_partition(), "alice", 100, 109)
    inspectable.share_partition(StateBatch(100, 104, RecordState.AVAILABLE, 1), partition=1)
    inspectable.share_partition(group_id="idle")

    # When
    found = asyncio.run(holdings(inspectable.live, now_ms=4_000))
    of_one = asyncio.run(holdings(inspectable.live, now_ms=4_000, only=GroupId("workers")))

    # Then
    assert found == {GroupId("workers"): Holding(15, 4_000), GroupId("idle"): Holding(0, None)}
    assert of_one == {GroupId("workers"): Holding(15, 4_000)}


def test_the_oldest_lock_is_the_one_that_was_taken_first_whatever_locks_last_by_now() -> None:
    # Given
    inspectable = Inspectable()
    share_partition = inspectable.share_partition()
    acquire(share_partition, "alice", 100, 109)
    share_partition.limits = ShareLimits(record_lock_duration_ms=15_000)
    acquire(share_partition, "bob", 110, 119, now_ms=3_000)

    # When
    found = asyncio.run(holdings(inspectable.live, now_ms=4_000))

    # Then
    assert found == {GroupId("workers"): Holding(20, 4_000)}


def test_a_lock_whose_records_are_done_with_is_no_lock() -> None:
    # Given
    inspectable = Inspectable()
    share_partition = inspectable.share_partition()
    acquire(share_partition, "alice", 100, 109)
    share_partition.move_start(110)

    # When
    found = asyncio.run(holdings(inspectable.live, now_ms=4_000))

    # Then
    assert found == {GroupId("workers"): Holding(0, None)}


def test_what_is_about_to_be_discarded_holds_nothing() -> None:
    # Given
    inspectable = Inspectable()
    share_partition = inspectable.share_partition()
    acquire(share_partition, "alice", 100, 109)
    share_partition.fence()

    # When
    found = asyncio.run(holdings(inspectable.live, now_ms=4_000))

    # Then
    assert found == {}
