import os
import pickle

import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.sources.raw_records import records_of
from kproxy.jobs.sources.task_partitions import TaskPartition, read_ranges, slots_in
from tests.in_memory.in_memory_topic import InMemoryTopic
from tests.worlds.histories import KEYS, History


def test_a_task_reads_one_range_after_the_other_by_one_connection() -> None:
    # Given
    history = History()
    for _ in range(5):
        history.snapshot(KEYS[0])
    topic = InMemoryTopic(records=history.records)

    # When
    batches = list(read_ranges(topic, [LogRange(0, 1, 3), LogRange(0, 4, 5)]))

    # Then
    records = [[record for _, record in records_of(batch)] for batch in batches]
    assert records == [history.records[1:3], history.records[4:]]
    assert topic.connection_count == 1


def test_what_goes_to_an_executor_can_be_pickled() -> None:
    # Given
    ranges = [LogRange(0, 5, 9), LogRange(1, 0, 2)]

    # When
    part = pickle.loads(pickle.dumps(TaskPartition(ranges)))

    # Then
    assert part.ranges == ranges


@pytest.mark.parametrize("options", [{}, {"slots": ""}])
def test_there_is_a_task_for_each_core_unless_it_is_known_how_many_there_are(options: dict[str, str]) -> None:
    # When
    slots = [slots_in(options), slots_in({"slots": "7"})]

    # Then
    assert slots == [os.cpu_count(), 7]
