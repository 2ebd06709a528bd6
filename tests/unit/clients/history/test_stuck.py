from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.clients.history.selection import Selected
from kproxy.clients.history.stuck import Stuck
from kproxy.clients.log_ranges import Leaderless, TopicEnd
from tests.unit.clients.history.asked_logs import let_take
from tests.worlds.consumption_facts import NEARLY, stuck_records
from tests.worlds.consumptions import FIRST_MS, STEPS, Consumption, Step, consumption_of

JOBS: Final = "AAAAAAAAAAAAAAAAAAAAAQ"


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
    ends = {(JOBS, 0): TopicEnd(end_offset=12, earlier_end_offset=8)}

    # When
    found = records_of(Stuck(Selected(group="orders-0"), deliveries=NEARLY, behind=1), [made], ends=ends)

    # Then
    assert [(row["offset"], row["reason"], row["lag"], row["since"]) for row in found] == [
        (3, "no-progress", 9, "2026-11-21T16:53:21Z")
    ]


def test_a_queue_that_got_on_lately_is_not_stuck() -> None:
    # Given
    made = consumption_of(0, [Step(0, "accept", "alice", 0, 3, 20_000)])
    ends = {(JOBS, 0): TopicEnd(end_offset=12, earlier_end_offset=8)}

    # When
    found = records_of(Stuck(Selected(group="orders-0"), deliveries=NEARLY, behind=1), [made], ends=ends)

    # Then
    assert not found


@pytest.mark.parametrize(("age_ms", "unknown"), [(1000, {(JOBS, 0): Leaderless(0, (1,))}), (20_000, {})])
def test_a_quiet_queue_whose_end_nobody_says_is_not_known_to_be_stuck(
    age_ms: int, unknown: Mapping[tuple[str, int], Leaderless]
) -> None:
    # Given
    made = consumption_of(0, [Step(0, "accept", "alice", 0, 3, age_ms)])
    ends = {(JOBS, number): Leaderless(number, (1,)) for number in (0, 7)}
    stuck = Stuck(Selected(group="orders-0", partition=0, names={JOBS: "jobs"}), deliveries=NEARLY, behind=1)

    # When
    found = records_of(stuck, [made], ends=ends)

    # Then
    assert (found, stuck.unknown_ends) == ([], unknown)


def test_the_end_of_a_topic_without_a_name_nobody_can_be_asked_for() -> None:
    # Given
    made = consumption_of(0, [Step(0, "accept", "alice", 0, 3, 1000)])
    stuck = Stuck(Selected(group="orders-0", partition=0), deliveries=NEARLY, behind=1)

    # When
    records_of(stuck, [made])

    # Then
    assert stuck.unknown_ends == {(JOBS, 0): None}
