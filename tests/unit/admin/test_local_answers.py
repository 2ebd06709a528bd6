import asyncio
from collections.abc import Mapping
from typing import NoReturn

import pytest

from kproxy.admin.local_answers import LocalAnswers
from kproxy.admin.questions import Endpoint, Question
from kproxy.admin.turns import AT_FIRST, AT_ONCE
from kproxy.errors import CoordinatorLoadInProgress
from kproxy.share.group_topics import GroupTopics
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.inspectable import ORDERS, Inspectable, acquire
from tests.in_memory.inspectable_fleet import InspectableFleet
from tests.worlds.waiting import turns_during


@pytest.mark.parametrize("endpoint", [Endpoint.GROUPS, Endpoint.SESSIONS, Endpoint.IN_FLIGHT])
def test_lists_are_in_the_order_of_group_ids_whatever_came_first(endpoint: Endpoint) -> None:
    # Given
    inspectable = Inspectable()
    for group_id in ("b", "c", "a"):
        inspectable.join("alice", group_id=group_id)
        inspectable.open_session("alice", group_id=group_id)
        acquire(inspectable.share_partition(group_id=group_id), "alice", 100, 100)

    # When
    told = asyncio.run(LocalAnswers(inspectable.inspected()).answer(Question(endpoint)))

    # Then
    assert [item["groupId"] for item in told.items] == ["a", "b", "c"]


@pytest.mark.parametrize("endpoint", [Endpoint.GROUPS, Endpoint.SESSIONS])
async def test_others_have_turns_while_very_many_group_ids_are_brought_in_order(endpoint: Endpoint) -> None:
    # Given
    inspectable = Inspectable()
    for number in range(10 * AT_FIRST):
        inspectable.join("alice", group_id=f"g{number}")
        inspectable.open_session("alice", group_id=f"g{number}")
    asked = Question(endpoint, wanted={"lag": "false"})

    # When
    turn_count = await turns_during(LocalAnswers(inspectable.inspected()).answer(asked))

    # Then
    assert turn_count >= 3


@pytest.mark.parametrize(
    "wanted", [{"state": "archived"}, {"member": "alice", "deliveries": "2"}, {"topic": "orders"}]
)
async def test_others_have_turns_while_very_many_records_are_looked_through(
    wanted: Mapping[str, str],
) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    for partition in range(3 * AT_ONCE):
        inspectable.share_partition(partition=partition)
    acquire(inspectable.share_partition(), "alice", 100, 100)
    asked = Question(Endpoint.IN_FLIGHT, wanted=wanted)

    # When
    turn_count = await turns_during(LocalAnswers(inspectable.inspected()).answer(asked))

    # Then
    assert turn_count >= 3


async def test_share_partitions_without_a_record_that_is_wanted_are_passed_over_before_the_answer() -> None:
    # Given
    inspectable = Inspectable()
    for partition in range(5):
        acquire(inspectable.share_partition(partition=partition), "alice", 100, 100 + partition)
    local = LocalAnswers(inspectable.inspected())

    # When
    told = await local.answer(Question(Endpoint.IN_FLIGHT, wanted={"state": "archived"}))
    inspectable.live.find = None  # whoever looks now fails

    # Then
    assert list(told.items) == []


async def test_of_a_group_each_member_is_told_when_it_is_due() -> None:
    # Given
    inspectable = Inspectable()
    for member_id in ("alice", "bob"):
        inspectable.join(member_id)

    # When
    told = await LocalAnswers(inspectable.inspected()).answer(Question(Endpoint.GROUP, "workers"))

    # Then
    members = iter(told.nested["members"])
    assert [next(members)["memberId"], next(members)["memberId"]] == ["alice", "bob"]
    assert "members" not in next(iter(told.items))


def not_to_be_made(*_: object) -> NoReturn:
    raise AssertionError("an assignment is made")


@pytest.mark.parametrize(
    "question", [Question(Endpoint.GROUPS, wanted={"lag": "false"}), Question(Endpoint.GROUP, "workers")]
)
async def test_no_assignment_is_made_to_count_members_or_before_its_member_is_told(
    question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a group with hundreds of members and thousands of topics all together take a third of a second."""
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    monkeypatch.setattr(GroupTopics, "named", not_to_be_made)

    # When
    told = await LocalAnswers(inspectable.inspected()).answer(question)

    # Then
    (group,) = told.items
    assert group["memberCount"] == 1


def a_process_with_a_slot_of_another() -> Inspectable:
    fleet = InspectableFleet("kproxy-a", "kproxy-b")
    return fleet.processes["kproxy-a"]


@pytest.mark.parametrize(
    ("slot_owner", "doubt"),
    [("kproxy-a", ""), ("kproxy-b", "not ready: 1 of 2 slots; slot 1: kproxy-b owns it")],
)
def test_what_is_said_of_a_group_is_in_doubt_where_its_slot_is_not_served(
    slot_owner: str, doubt: str
) -> None:
    # Given
    group_id = InspectableFleet("kproxy-a", "kproxy-b").group_of(slot_owner)
    local = LocalAnswers(a_process_with_a_slot_of_another().inspected())

    # When
    found = local.doubt(Question(Endpoint.GROUP, group_id))

    # Then
    assert found == doubt


def test_lists_are_not_in_doubt_for_slots_of_others() -> None:
    assert LocalAnswers(a_process_with_a_slot_of_another().inspected()).doubt(Question(Endpoint.GROUPS)) == ""


def test_lists_are_in_doubt_while_an_own_slot_is_loaded() -> None:
    # Given
    process = a_process_with_a_slot_of_another()
    process.state_log.add(2, SlotState.LOADING, reason="replaying")

    # When
    doubt = LocalAnswers(process.inspected()).doubt(Question(Endpoint.SESSIONS))

    # Then
    assert doubt == "not ready: 1 of 3 slots; slot 2: replaying"


def test_what_concerns_the_whole_process_is_said_before_what_concerns_slots() -> None:
    # Given
    process = a_process_with_a_slot_of_another()
    process.state_log.add(2, SlotState.LOADING, reason="replaying")
    process.unavailable = "no broker answers"

    # When
    doubt = LocalAnswers(process.inspected()).doubt(Question(Endpoint.GROUPS))

    # Then
    assert doubt == "no broker answers"


@pytest.mark.parametrize(
    ("partition", "why"),
    [
        (0, r"nothing can be changed of .*: it is being"),
        (1, "not in memory now, and loaded with the next"),
    ],
)
def test_what_is_fetched_and_not_in_memory_is_not_said_to_be_fetched_by_nobody(
    partition: int, why: str
) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.write_state(partition, StateBatch(100, 104, RecordState.AVAILABLE, 2), start_offset=100)
    inspectable.live.reasons[SharePartitionKey(GroupId("workers"), ORDERS, 0)] = "it is being loaded"
    inspectable.open_session("alice", (ORDERS, 1))
    local = LocalAnswers(inspectable.inspected())

    # Then
    with pytest.raises(CoordinatorLoadInProgress, match=why):
        asyncio.run(local.share_partition("workers", "orders", partition))
