"""What is told of records in flight where nobody fetches: the state log has them, the next fetch takes them over."""

import asyncio
from typing import Any

import pytest

from kproxy.admin.local_answers import LocalAnswers
from kproxy.admin.questions import Endpoint, Question
from kproxy.admin.turns import AT_ONCE
from kproxy.share.identifiers import GroupId
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import Inspectable, acquire, answer_to
from tests.in_memory.wide_groups import initialize_narrow_topics
from tests.worlds.waiting import turns_during

TRIED_TWICE = StateBatch(100, 104, RecordState.AVAILABLE, 2)
DONE_BEHIND = StateBatch(105, 109, RecordState.ACKNOWLEDGED, 1)


def a_group_that_everybody_left() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.leave("alice")
    inspectable.write_state(0, TRIED_TWICE, DONE_BEHIND, start_offset=100)
    return inspectable


def runs_of(inspectable: Inspectable, **wanted: str) -> list[dict[str, Any]]:
    told = asyncio.run(
        LocalAnswers(inspectable.inspected()).answer(Question(Endpoint.IN_FLIGHT, wanted=wanted))
    )
    return [dict(run) for run in told.items]


def test_the_window_of_a_group_that_everybody_left_is_told_as_the_state_log_has_it() -> None:
    # When
    answer = answer_to(
        a_group_that_everybody_left(), "/api/v1/in-flight?group=workers&topic=orders&partition=0"
    )

    # Then
    told = [
        (
            run["firstOffset"],
            run["lastOffset"],
            run["state"],
            run["deliveryCount"],
            run["memberId"],
            run["live"],
        )
        for run in answer.items
    ]
    assert told == [(100, 104, "Available", 2, None, False), (105, 109, "Acknowledged", 1, None, False)]


def test_what_is_in_memory_is_told_instead_of_what_the_state_log_has() -> None:
    # Given
    inspectable = a_group_that_everybody_left()
    acquire(inspectable.share_partition(TRIED_TWICE), "bob", 100, 104)

    # When
    (run,) = runs_of(inspectable)

    # Then
    assert (run["state"], run["memberId"], run["live"]) == ("Acquired", "bob", True)


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"state": "available"}, 1),
        ({"deliveries": "2"}, 1),
        ({"held": "0"}, 0),
        ({"topic": "orders", "partition": "1"}, 0),
    ],
)
def test_it_is_narrowed_as_what_is_in_memory(wanted: dict[str, str], count: int) -> None:
    assert len(runs_of(a_group_that_everybody_left(), **wanted)) == count


def test_lists_of_both_are_in_the_order_of_groups() -> None:
    # Given
    inspectable = a_group_that_everybody_left()
    acquire(inspectable.share_partition(group_id="zebras"), "alice", 100, 100)
    acquire(inspectable.share_partition(group_id="auditors"), "alice", 100, 100)

    # When
    found = runs_of(inspectable)

    # Then
    assert [run["groupId"] for run in found] == ["auditors", "workers", "workers", "zebras"]


def test_a_topic_that_the_cluster_forgot_keeps_the_name_that_the_group_knows() -> None:
    # Given
    inspectable = a_group_that_everybody_left()
    inspectable.topic_names = {}

    # When
    found = runs_of(inspectable, topic="orders")

    # Then
    assert {run["topicName"] for run in found} == {"orders"}


@pytest.mark.parametrize("trouble", ["no state log", "slot is loading", "state contradicts itself"])
def test_what_cannot_be_read_is_left_out(trouble: str) -> None:
    # Given
    inspectable = a_group_that_everybody_left()
    match trouble:
        case "no state log":
            inspectable.has_state_log = False
        case "slot is loading":
            inspectable.state_log.problem = "slot 0 is being replayed"
        case _:
            inspectable.state_log.written.clear()
            inspectable.write_state(0, DONE_BEHIND, start_offset=107)

    # When
    found = runs_of(inspectable)

    # Then
    assert found == []


async def test_others_have_turns_while_very_many_that_nobody_fetches_from_are_looked_through() -> None:
    # Given
    inspectable = Inspectable()
    for number in range(3 * AT_ONCE // 2):
        inspectable.join("alice", group_id=f"group-{number}")

    # When
    turn_count = await turns_during(
        LocalAnswers(inspectable.inspected()).answer(Question(Endpoint.IN_FLIGHT))
    )

    # Then
    assert turn_count >= 1


async def test_others_have_turns_while_a_group_of_many_narrow_topics_is_gone_through() -> None:
    # Given
    inspectable = Inspectable()
    initialize_narrow_topics(inspectable, GroupId("workers"), count=AT_ONCE)
    in_flight = LocalAnswers(inspectable.inspected()).answer(Question(Endpoint.IN_FLIGHT))

    # When
    turn_count = await turns_during(in_flight)

    # Then
    assert turn_count >= 4
