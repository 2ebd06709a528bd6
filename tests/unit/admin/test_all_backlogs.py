"""What is asked of the brokers for a look at all groups, and what is not asked again."""

import asyncio
from collections.abc import Sequence

from kproxy.admin import all_backlogs
from kproxy.admin.all_backlogs import MOST_READS, REMEMBERED_MS, AllBacklogs
from kproxy.admin.progress_views import SharePartitionWindow, unknown_window
from kproxy.error_codes import ErrorCode
from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicIdPartition
from kproxy.wire.record_times import RecordTime
from tests.in_memory.in_memory_backlogs import InMemoryBacklogs
from tests.in_memory.inspectable import NOON_MS, ORDERS
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_partition_reader import InMemoryLog


class World:
    """Logs of orders of which record n was written n seconds after noon."""

    def __init__(self, *, partition_count: int = 1, record_count: int = 10) -> None:
        self.backlogs = InMemoryBacklogs()
        self.clock = ManualClock()
        for partition in range(partition_count):
            log = self.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
            for number in range(record_count):
                log.append([b"a"], timestamp_ms=NOON_MS + number * 1_000)
        self.all = AllBacklogs(self.backlogs, self.clock)

    def look(self, *windows: SharePartitionWindow) -> Sequence[Backlog]:
        self.backlogs.asked.clear()
        return asyncio.run(self.all.look(windows))

    @property
    def read(self) -> list[tuple[int, int]]:
        """The partitions and offsets that were read for the last look."""
        return [
            (question.partition, question.first_unfinished)
            for question in self.backlogs.asked
            if question.first_unfinished is not None
        ]


def a_window(start_offset: int, *, partition: int = 0, group_id: str = "workers") -> SharePartitionWindow:
    key = SharePartitionKey(GroupId(group_id), ORDERS, partition)
    return SharePartitionWindow(
        key, "orders", is_live=True, start_offset=start_offset, end_offset=start_offset
    )


def written_at(number: int) -> RecordTime:
    return RecordTime(NOON_MS + number * 1_000, True)


def test_groups_at_different_offsets_of_one_log_each_learn_the_time_of_their_own_record() -> None:
    # Given
    world = World()

    # When
    found = world.look(*(a_window(start, group_id=f"group-{start}") for start in (3, 7, 10)))

    # Then
    assert found == [Backlog(10, written_at(3)), Backlog(10, written_at(7)), Backlog(10)]


def test_the_end_of_a_log_is_asked_for_once_and_a_record_that_several_groups_are_at_is_read_once() -> None:
    # Given
    world = World()

    # When
    world.look(*(a_window(3, group_id=f"group-{number}") for number in range(5)))

    # Then
    assert [question.first_unfinished for question in world.backlogs.asked] == [None, 3]


def test_no_question_names_a_topic_partition_twice() -> None:
    # Given
    world = World()
    asked: list[Sequence[BacklogQuestion]] = []
    ask = world.backlogs.look

    class Listening:
        async def look(self, questions: Sequence[BacklogQuestion]) -> Sequence[Backlog]:
            asked.append(questions)
            return await ask(questions)

    # When
    asyncio.run(AllBacklogs(Listening(), world.clock).look([a_window(start) for start in range(4)]))

    # Then
    assert [len(questions) for questions in asked] == [1, 1, 1, 1, 1]


def test_a_group_that_does_not_move_has_its_record_read_again_after_a_minute_only() -> None:
    # Given
    world = World()
    stuck = a_window(3)
    reads = []

    # When
    for step_ms in (0, 10_000, REMEMBERED_MS):
        world.clock.advance(step_ms)
        (found,) = world.look(stuck)
        reads.append((found.oldest, world.read))

    # Then
    assert reads == [(written_at(3), [(0, 3)]), (written_at(3), []), (written_at(3), [(0, 3)])]


def test_with_more_to_read_than_one_look_may_those_that_stand_still_come_first() -> None:
    # Given
    world = World(partition_count=MOST_READS + 1)
    windows = [a_window(0, partition=partition) for partition in range(MOST_READS + 1)]
    first = world.look(*windows)
    moved = [a_window(1, partition=partition) for partition in range(MOST_READS)]

    # When
    second = world.look(*moved, windows[-1])

    # Then
    assert first[-1] == Backlog(10, None, "its first unfinished record was not read yet")
    assert world.read[0] == (MOST_READS, 0)
    assert len(world.read) == MOST_READS
    assert second[-1] == Backlog(10, written_at(0))


def test_what_is_done_with_or_not_known_is_not_read() -> None:
    # Given
    world = World()
    unknown = unknown_window(SharePartitionKey(GroupId("auditors"), ORDERS, 0), None, "it is loading")

    # When
    found = world.look(a_window(10), unknown)

    # Then
    assert found == [Backlog(10), Backlog(10)]
    assert world.read == []


def test_brokers_that_do_not_answer_cost_no_more_than_the_time_there_is() -> None:
    # Given
    class Silent:
        async def look(self, questions: Sequence[BacklogQuestion]) -> Sequence[Backlog]:
            del questions
            await asyncio.Event().wait()
            raise AssertionError

    silent = AllBacklogs(Silent(), ManualClock(), timeout_s=0.01)

    # When
    found = asyncio.run(silent.look([a_window(3), a_window(4)]))

    # Then
    assert found == [Backlog(None, None, "the brokers did not answer within 0.01 s")] * 2


def test_a_log_of_which_nobody_knows_the_end_says_why() -> None:
    # Given
    world = World()
    world.backlogs.silent.add(TopicIdPartition(ORDERS, 0))

    # When
    found = world.look(a_window(3))

    # Then
    reason = "the brokers did not answer within 3 s"
    assert found == [Backlog(None, None, reason, ErrorCode.REQUEST_TIMED_OUT)]
    assert all_backlogs.LOOK_SECONDS > 3
