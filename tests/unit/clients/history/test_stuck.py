from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.clients.history.selection import Selected
from kproxy.clients.history.stuck import Stuck
from kproxy.clients.log_ranges import TopicEnd
from tests.unit.clients.history.asked_logs import let_take
from tests.worlds.consumption_facts import NEARLY, stuck_records
from tests.worlds.consumptions import FIRST_MS, STEPS, Consumption, Step, consumption_of


def records_of(stuck: Stuck, made: Sequence[Consumption], **ends: Any) -> Sequence[Any]:
    folds = let_take(stuck, made)
    states = {key: state for fold in folds for key, state in fold.states.items()}
    return stuck.records(states, ends.get("ends", {}), quiet_since_ms=FIRST_MS + 10_000, place="the log")


@settings(max_examples=30)
@given(st.lists(STEPS, min_size=1, max_size=2))
def test_what_blocks_the_start_offset_or_is_near_its_limit_is_found(steps: Sequence[Sequence[Step]]) -> None:
    # Given
    made = [consumption_of(number, each) for number, each in enumerate(steps)]

    # When
    found = records_of(Stuck(Selected(), deliveries=NEARLY, behind=1), made)

    # Then
    assert {
        (row["groupId"], row["partition"], row["offset"]): (
            row["reason"],
            row["deliveryCount"],
            row["doneBehind"],
            sorted((each["logOffset"], each["event"]) for each in row["history"]),
        )
        for row in found
    } == stuck_records(made)


def test_a_queue_that_stands_still_before_older_records_is_found() -> None:
    # Given
    made = consumption_of(0, [Step(0, "accept", "alice", 0, 3, 1000)])
    ends = {("AAAAAAAAAAAAAAAAAAAAAQ", 0): TopicEnd(end_offset=12, earlier_end_offset=8)}

    # When
    found = records_of(Stuck(Selected(group="orders-0"), deliveries=NEARLY, behind=1), [made], ends=ends)

    # Then
    assert [(row["offset"], row["reason"], row["lag"], row["since"]) for row in found] == [
        (3, "no-progress", 9, "2026-11-21T16:53:21Z")
    ]


def test_a_queue_that_got_on_lately_is_not_stuck() -> None:
    # Given
    made = consumption_of(0, [Step(0, "accept", "alice", 0, 3, 20_000)])
    ends = {("AAAAAAAAAAAAAAAAAAAAAQ", 0): TopicEnd(end_offset=12, earlier_end_offset=8)}

    # When
    found = records_of(Stuck(Selected(group="orders-0"), deliveries=NEARLY, behind=1), [made], ends=ends)

    # Then
    assert not found
