"""Whichever process of a fleet is asked, it gives the one true answer, or says that it is none."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.admin.fleet import fleet_answers
from kproxy.admin.peer_views import PeerAnswer
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, SnapshotEpoch, StateEpoch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.inspectable import ORDERS, PAYMENTS
from tests.in_memory.inspectable_fleet import InspectableFleet, fill, two_processes

LISTS: Final = (
    *("/api/v1/groups?lag=false", "/api/v1/sessions"),
    *("/api/v1/in-flight", "/api/v1/in-flight?topic=orders"),
)

OWNERS: Final = st.lists(st.sampled_from(["kproxy-a", "kproxy-b", "kproxy-c"]), min_size=1, max_size=5)
GROUPS: Final = st.dictionaries(
    st.text(min_size=1, max_size=3), st.sets(st.sampled_from(["alice", "bob"]), min_size=1), max_size=6
)


def items_but_connections(body: Any) -> list[dict[str, object]]:
    """Return the items without what a process counts for itself."""
    return [{name: value for name, value in item.items() if name != "connectionId"} for item in body["items"]]


@pytest.mark.parametrize("path", LISTS)
@settings(max_examples=30, deadline=None)
@given(owners=OWNERS, groups=GROUPS)
def test_whoever_is_asked_lists_what_one_process_would_that_holds_everything(
    path: str, owners: list[str], groups: dict[str, set[str]]
) -> None:
    # Given
    fleet, alone = InspectableFleet(*owners), InspectableFleet(*["kproxy"] * len(owners))
    for group_id, member_ids in groups.items():
        fill(fleet.of(group_id), group_id, member_ids)
        fill(alone.of(group_id), group_id, member_ids)
    whole = alone.answer("kproxy", path)

    # When
    answers = [fleet.answer(name, path) for name in fleet.processes]

    # Then
    for answer in answers:
        assert answer.status == whole.status
        assert answer.body["kind"] == whole.body["kind"]
        assert items_but_connections(answer.body) == items_but_connections(whole.body)
        assert "unavailable" not in answer.body


@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
@pytest.mark.parametrize(
    "path", ["/api/v1/groups/{}?lag=false", "/api/v1/sessions?group={}", "/api/v1/in-flight?group={}"]
)
def test_what_is_about_one_group_is_told_by_its_owner(asked: str, path: str) -> None:
    # Given
    fleet = two_processes()
    group_id = fleet.group_of("kproxy-b")

    # When
    answer = fleet.answer(asked, path.format(group_id))

    # Then
    assert (answer.status, {item["groupId"] for item in answer.items}) == (200, {group_id})
    assert {name for name, _, _ in fleet.asked} <= {"kproxy-b"}


@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
def test_a_group_is_unknown_if_its_owner_does_not_know_it(asked: str) -> None:
    # Given
    fleet = two_processes()
    unknown = fleet.group_of("kproxy-b", beginning="unknown")

    # When
    answer = fleet.answer(asked, f"/api/v1/groups/{unknown}")

    # Then
    assert answer.status == 404
    assert answer.message.startswith(f"there is no share group {unknown!r}")


def test_a_group_whose_owner_cannot_be_asked_is_not_called_unknown() -> None:
    # Given
    fleet = two_processes()
    fleet.silent["kproxy-b"] = "kproxy-b shows nothing within 2000 ms"

    # When
    answer = fleet.answer("kproxy-a", f"/api/v1/groups/{fleet.group_of('kproxy-b')}")

    # Then
    assert (answer.status, answer.message) == (
        503,
        "nothing of that is known: kproxy-b shows nothing within 2000 ms",
    )


def test_a_group_of_a_slot_that_nobody_owns_is_not_called_unknown() -> None:
    # Given
    fleet = InspectableFleet("kproxy-a", "kproxy-b", "")

    # When
    answer = fleet.answer("kproxy-a", f"/api/v1/groups/{fleet.group_of('')}")

    # Then
    assert (answer.status, answer.message) == (
        503,
        "nothing of that is known: not ready: 1 of 3 slots; slot 2: it is on the way to its next owner",
    )


def test_a_process_asked_for_a_group_that_it_owns_no_more_does_not_call_it_unknown() -> None:
    # Given
    fleet = two_processes()

    # When
    answer = fleet.answer("kproxy-a", f"/api/v1/groups/{fleet.group_of('kproxy-b')}?scope=local")

    # Then
    assert (answer.status, answer.message) == (
        503,
        "nothing of that is known: not ready: 1 of 2 slots; slot 1: kproxy-b owns it",
    )


@pytest.mark.parametrize("path", LISTS)
def test_a_process_that_cannot_be_asked_makes_a_list_say_so_beside_what_is_there(path: str) -> None:
    # Given
    fleet = two_processes()
    fleet.silent["kproxy-b"] = "kproxy-b shows nothing within 2000 ms"

    # When
    answer = fleet.answer("kproxy-a", path)

    # Then
    assert answer.status == 200
    assert answer.body["unavailable"] == "kproxy-b shows nothing within 2000 ms"
    assert {item["groupId"] for item in answer.items} == {fleet.group_of("kproxy-a")}
    assert fleet.processes["kproxy-a"].metrics.counted("peer_views", "failed") == 1


def test_a_process_that_answers_nonsense_makes_a_list_say_so() -> None:
    # Given
    fleet = two_processes()
    fleet.broken["kproxy-b"] = PeerAnswer(200, b"<html>")

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/sessions")

    # Then
    assert answer.body["unavailable"] == ("kproxy-b answered 200, and nothing that can be understood")


@pytest.mark.parametrize("state", [SlotState.LOADING, SlotState.LEAVING, SlotState.STOPPED])
@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
def test_a_slot_that_its_owner_does_not_serve_makes_a_list_say_so(asked: str, state: SlotState) -> None:
    # Given
    fleet = two_processes()
    slots = fleet.processes["kproxy-b"].state_log.slots
    slots.clear()
    fleet.processes["kproxy-b"].state_log.add(0, SlotState.ELSEWHERE, reason="kproxy-a owns it")
    fleet.processes["kproxy-b"].state_log.add(1, state, reason="of a reason")

    # When
    answer = fleet.answer(asked, "/api/v1/groups?lag=false")

    # Then
    assert answer.body["unavailable"] == "kproxy-b: not ready: 1 of 2 slots; slot 1: of a reason"


def test_a_slot_that_moved_between_two_answers_makes_a_list_say_so() -> None:
    # Given
    fleet = two_processes()
    fleet.processes["kproxy-b"].state_log.slots.clear()
    fleet.processes["kproxy-b"].state_log.add(0, SlotState.ELSEWHERE)
    fleet.processes["kproxy-b"].state_log.add(1, SlotState.ELSEWHERE)

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/groups?lag=false")

    # Then
    assert answer.body["unavailable"] == (
        "1 slot went from one process to another while this was asked, slot 1 first; ask again"
    )


def test_a_group_that_two_processes_hold_is_told_alike_whoever_is_asked() -> None:
    # Given
    fleet = two_processes()
    group_id = fleet.group_of("kproxy-a")
    fill(fleet.processes["kproxy-b"], group_id, {"carol"})

    # When
    answers = [fleet.answer(name, "/api/v1/sessions") for name in fleet.processes]

    # Then
    members = [[item["memberId"] for item in each.items if item["groupId"] == group_id] for each in answers]
    assert members == [["alice"], ["alice"]]


def test_another_process_that_cannot_serve_share_groups_makes_a_list_say_so() -> None:
    # Given
    fleet = two_processes()
    fleet.processes["kproxy-b"].unavailable = "no broker answers"

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/groups?lag=false")

    # Then
    assert answer.body["unavailable"] == "kproxy-b: no broker answers"


# ---- what nobody knows


@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/api/v1/sessions?member=carol", "there is no member 'carol' in any share group: "),
        ("/api/v1/in-flight?topic=x", "no share group has a topic 'x'; there is orders"),
        (
            "/api/v1/in-flight?topic=orders&partition=2",
            "there is no partition 2: topic 'orders' has 2 partitions, numbered from 0",
        ),
    ],
)
def test_what_nobody_knows_is_not_found(asked: str, path: str, complaint: str) -> None:
    # When
    answer = two_processes().answer(asked, path)

    # Then
    assert answer.status == 404
    assert answer.message.startswith(complaint)


@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
def test_what_one_process_knows_is_found(asked: str) -> None:
    # Given
    fleet = two_processes()

    # When
    answer = fleet.answer(asked, "/api/v1/sessions?member=bob")

    # Then
    assert (answer.status, [item["memberId"] for item in answer.items]) == (200, ["bob"])


def test_topics_that_there_are_instead_are_those_of_all_processes() -> None:
    # Given
    fleet = two_processes()
    payments = {ORDERS: "orders", PAYMENTS: "payments"}
    fleet.processes["kproxy-b"].topic_names = payments
    fleet.processes["kproxy-b"].share_partition(group_id=fleet.group_of("kproxy-b"), topic_id=PAYMENTS)

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/in-flight?topic=x")

    # Then
    assert answer.message == "no share group has a topic 'x'; there are orders, payments"


def test_what_those_do_not_know_who_could_be_asked_is_not_called_unknown() -> None:
    # Given
    fleet = two_processes()
    fleet.silent["kproxy-b"] = "kproxy-b shows nothing within 2000 ms"

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/sessions?member=bob")

    # Then
    assert (answer.status, answer.message) == (
        503,
        "nothing of that is known: kproxy-b shows nothing within 2000 ms",
    )


# ---- one process alone


@pytest.mark.parametrize("path", LISTS)
def test_one_process_tells_of_itself_if_that_is_asked_for(path: str) -> None:
    # Given
    fleet = two_processes()

    # When
    answer = fleet.answer("kproxy-a", f"{path}{'&' if '?' in path else '?'}scope=local")

    # Then
    assert {item["groupId"] for item in answer.items} == {fleet.group_of("kproxy-a")}
    assert (answer.body["slotsTold"], "unavailable" in answer.body) == ([0], False)
    assert fleet.asked == []


# ---- the state log


@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
def test_each_slot_is_told_by_its_owner(asked: str) -> None:
    # When
    answer = two_processes().answer(asked, "/api/v1/state-log")

    # Then
    assert [(slot["partition"], slot["state"], slot["owner"]) for slot in answer.items] == [
        (0, "ready", "kproxy-a"),
        (1, "ready", "kproxy-b"),
    ]
    assert (answer.body["stateTopic"], "unavailable" in answer.body) == ("__kproxy_share_state", False)


def test_a_slot_whose_owner_cannot_be_asked_is_told_as_it_is_known_here() -> None:
    # Given
    fleet = two_processes()
    fleet.silent["kproxy-b"] = "kproxy-b shows nothing within 2000 ms"

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/state-log")

    # Then
    assert [(slot["state"], slot["reason"], slot["owner"]) for slot in answer.items] == [
        ("ready", "", "kproxy-a"),
        ("elsewhere", "kproxy-b owns it", "kproxy-b"),
    ]
    assert answer.body["unavailable"] == "kproxy-b shows nothing within 2000 ms"


@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
def test_the_states_of_a_slot_are_told_by_its_owner(asked: str) -> None:
    # Given
    fleet = two_processes()
    key = SharePartitionKey(GroupId(fleet.group_of("kproxy-b")), ORDERS, 0)
    state = DurableShareState(StateEpoch(0), LeaderEpoch(0), SnapshotEpoch(0), 7, 0, ())
    fleet.processes["kproxy-b"].state_log.written[1][key] = state

    # When
    answer = fleet.answer(asked, "/api/v1/state-log/1/state?at=end")

    # Then
    assert [(item["groupId"], item["startOffset"]) for item in answer.items] == [(key.group_id, 7)]
    assert (answer.body["appliedOffset"], "unavailable" in answer.body) == (57, False)


def test_the_states_of_a_slot_that_is_not_served_are_told_as_not_known() -> None:
    # Given
    fleet = InspectableFleet("kproxy-a", "")

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/state-log/1/state")

    # Then
    assert answer.body["unavailable"] == (
        "not ready: 1 of 2 slots; slot 1: it is on the way to its next owner"
    )


def test_a_slot_that_there_is_none_of_is_not_found() -> None:
    # When
    answer = two_processes().answer("kproxy-a", "/api/v1/state-log/2/state")

    # Then
    assert (answer.status, answer.message) == (404, "the state log has no slot 2 here")


@pytest.mark.parametrize(
    ("path", "patience_ms"),
    [
        ("/api/v1/groups", fleet_answers.LAG_PATIENCE_MS),
        (f"/api/v1/groups/{two_processes().group_of('kproxy-b')}", fleet_answers.GROUP_LAG_PATIENCE_MS),
        ("/api/v1/groups?lag=false", fleet_answers.PATIENCE_MS),
        ("/api/v1/sessions", fleet_answers.PATIENCE_MS),
        ("/api/v1/state-log", fleet_answers.PATIENCE_MS),
        ("/api/v1/state-log/1/state", fleet_answers.SLOT_PATIENCE_MS),
    ],
)
def test_others_are_waited_for_as_long_as_they_may_need(path: str, patience_ms: int) -> None:
    # Given
    fleet = two_processes()

    # When
    fleet.answer("kproxy-a", path)

    # Then
    assert [patience for _, _, patience in fleet.asked] == [patience_ms]


def test_the_lag_of_a_group_is_told_by_its_owner() -> None:
    # Given
    fleet = two_processes()

    # When
    first, second = (fleet.answer(name, "/api/v1/groups").items for name in fleet.processes)

    # Then
    assert [group["reason"] != "" for group in first] == [True, True]
    assert first == second
