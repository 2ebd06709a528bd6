"""Which share-partitions of a group are shown, and where what is shown comes from."""

import asyncio
from collections.abc import Sequence

from kproxy.admin.group_progress import WINDOWS_AT_ONCE, GroupProgress
from kproxy.admin.progress_views import SharePartitionProgress
from kproxy.admin.turns import AT_ONCE
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicIdPartition
from kproxy.share.limits import ShareLimits
from tests.in_memory.inspectable import NOON_MS, ORDERS, PAYMENTS, Inspectable
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_partition_reader import InMemoryLog
from tests.in_memory.wide_groups import initialize_narrow_topics
from tests.worlds.waiting import turns_during

WORKERS = GroupId("workers")


def looking_at(inspectable: Inspectable) -> GroupProgress:
    return GroupProgress(
        coordinator=inspectable.coordinator,
        directory=inspectable.live,
        topic_name=inspectable.topic_names.get,
        state_log=lambda: inspectable.state_log if inspectable.has_state_log else None,
        backlogs=inspectable.backlogs,
        wall_clock=ManualClock(NOON_MS),
        limits_of=lambda _: ShareLimits(partition_max_record_locks=100),
        isolation_of=lambda _: inspectable.isolation,
    )


def progress_of(inspectable: Inspectable, *, has_lag: bool = True) -> Sequence[SharePartitionProgress]:
    return list(asyncio.run(looking_at(inspectable).of(WORKERS, has_lag=has_lag)))


def with_logs(inspectable: Inspectable) -> Inspectable:
    """Let both partitions of orders hold ten records, the first of an hour ago."""
    for partition in range(2):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 10, timestamp_ms=NOON_MS - 3_600_000)
    return inspectable


def test_what_is_live_and_what_is_not_stand_side_by_side() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.join("alice")
    inspectable.share_partition(partition=1, start_offset=4)
    inspectable.write_state(0, start_offset=7)
    inspectable.write_state(1, start_offset=2)

    # When
    first, second = progress_of(inspectable)

    # Then
    assert (first.partition, first.is_live, first.start_offset, first.lag) == (0, False, 7, 3)
    assert (second.partition, second.is_live, second.start_offset, second.lag) == (1, True, 4, 6)
    assert (first.oldest_age_ms, second.oldest_age_ms) == (3_600_000, 3_600_000)


def test_a_group_that_everybody_left_is_still_there_with_its_lag() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.join("alice")
    inspectable.leave("alice")
    inspectable.write_state(0, start_offset=0)
    inspectable.write_state(1, start_offset=10)

    # When
    found = progress_of(inspectable)

    # Then
    assert [(each.partition, each.lag, each.oldest_age_ms) for each in found] == [
        (0, 10, 3_600_000),
        (1, 0, None),
    ]


def test_a_topic_whose_name_the_cluster_does_not_tell_has_the_name_that_the_group_knows() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.join("alice")
    inspectable.topic_names = {}

    # When
    found = progress_of(inspectable)

    # Then
    assert [each.topic_name for each in found] == ["orders", "orders"]
    assert [question.topic_name for question in inspectable.backlogs.asked] == ["orders", "orders"]


def test_what_is_live_without_being_initialized_is_shown_too() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.share_partition(topic_id=PAYMENTS, start_offset=4)
    inspectable.share_partition(group_id="others")

    # When
    (found,) = progress_of(inspectable)

    # Then
    assert (found.topic_name, found.start_offset) == (None, 4)
    assert found.reason == "the cluster has no topic with this id"


def test_of_many_share_partitions_each_is_shown_once_in_order() -> None:
    # Given
    inspectable = Inspectable()
    for partition in reversed(range(250)):
        inspectable.share_partition(partition=partition)

    # When
    found = progress_of(inspectable, has_lag=False)

    # Then
    assert [each.partition for each in found] == list(range(250))


def test_a_slot_that_is_being_loaded_leaves_the_end_of_the_log() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.join("alice")
    inspectable.state_log.problem = "slot 3 is being replayed"

    # When
    found = progress_of(inspectable)

    # Then
    assert [(each.start_offset, each.lag, each.log_end_offset) for each in found] == [(None, None, 10)] * 2
    assert {each.reason for each in found} == {"slot 3 is being replayed"}


def test_before_there_is_a_state_log_it_says_so() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.join("alice")
    inspectable.has_state_log = False

    # When
    found = progress_of(inspectable)

    # Then
    assert {each.reason for each in found} == {"the state log is not there yet"}


def test_whoever_does_not_want_the_lag_has_no_broker_asked() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.share_partition(start_offset=4)

    # When
    (found,) = progress_of(inspectable, has_lag=False)

    # Then
    assert (found.start_offset, found.log_end_offset, found.lag, found.reason) == (4, None, None, "")
    assert inspectable.backlogs.asked == []


def test_all_groups_have_their_share_partitions_live_or_not_and_some_have_none() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.join("carol", group_id="auditors")
    inspectable.share_partition(partition=1, start_offset=4)
    inspectable.share_partition(group_id="what is left of one", start_offset=9)
    inspectable.write_state(0, start_offset=7)

    # When
    found = asyncio.run(looking_at(inspectable).windows_of_all())

    # Then
    assert {
        group_id: sorted((each.key.partition, each.is_live, each.start_offset) for each in windows)
        for group_id, windows in found.items()
    } == {
        "workers": [(0, False, 7), (1, True, 4)],
        "auditors": [(0, False, None), (1, False, None)],
        "what is left of one": [(0, True, 9)],
    }


def test_others_have_their_turns_while_very_many_share_partitions_are_looked_at() -> None:
    # Given
    inspectable = Inspectable()
    for number in range(20):
        for partition in range(100):
            inspectable.share_partition(group_id=f"group-{number}", partition=partition)

    async def turns_of_another() -> int:
        is_done = asyncio.Event()

        async def look() -> None:
            await looking_at(inspectable).windows_of_all()
            is_done.set()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(look())
            turns = 0
            while not is_done.is_set():
                await asyncio.sleep(0)
                turns += 1
        return turns

    # When
    turns = asyncio.run(turns_of_another())

    # Then
    assert turns >= 2_000 / WINDOWS_AT_ONCE


async def test_others_have_turns_while_what_a_group_has_initialized_of_many_narrow_topics_is_looked_at() -> (
    None
):
    # Given
    inspectable = Inspectable()
    initialize_narrow_topics(inspectable, WORKERS, count=AT_ONCE)

    # When
    turn_count = await turns_during(looking_at(inspectable)._names([WORKERS], ()))

    # Then
    assert turn_count >= 4


def test_of_a_group_that_reads_committed_records_it_is_told_where_those_end() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.join("alice")
    inspectable.write_state(0, start_offset=7)
    inspectable.backlogs.logs[TopicIdPartition(ORDERS, 0)].open_transactions[7] = 8
    inspectable.isolation = IsolationLevel.READ_COMMITTED

    # When
    first, *_ = progress_of(inspectable)

    # Then
    assert (first.start_offset, first.last_stable_offset, first.log_end_offset) == (7, 8, 10)


def test_of_what_is_not_live_although_it_is_fetched_it_is_told_why() -> None:
    # Given
    inspectable = with_logs(Inspectable())
    inspectable.join("alice")
    inspectable.write_state(0, start_offset=7)
    inspectable.live.reasons[SharePartitionKey(WORKERS, ORDERS, 0)] = "it is being loaded"

    # When
    first, second = progress_of(inspectable)

    # Then
    assert (first.not_live_reason, first.lag, second.not_live_reason) == ("it is being loaded", 3, "")
