import pytest

from kproxy.admin.readiness import CheckResult
from kproxy.admin.state_log_views import doubt_of_slots, durable_state_view, slot_checks
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    topic_id_text,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.slot_status import SlotState
from tests.in_memory.inspectable import (
    ORDERS,
    ORDERS_TEXT,
    STATE_TOPIC,
    InMemoryStateLogSlots,
    Inspectable,
    answer_to,
)


def test_a_state_of_a_topic_that_is_gone_has_its_id_only() -> None:
    # Given
    key = SharePartitionKey(GroupId("workers"), ORDERS, 1)
    state = DurableShareState(StateEpoch(2), LeaderEpoch(5), SnapshotEpoch(9), -1, -1, ())

    # When
    view = durable_state_view(key, state, lambda _: None)

    # Then
    assert (view.topic_id, view.topic_name) == (ORDERS_TEXT, None)
    assert (view.start_offset, view.delivery_complete_count, view.state_batches) == (-1, -1, ())


def test_a_slot_is_ready_for_traffic_when_it_is_ready_or_the_business_of_another_process() -> None:
    # Given
    slots = InMemoryStateLogSlots()
    slots.add(0)
    slots.add(1, SlotState.LOADING)
    slots.add(2, SlotState.STOPPED, reason="offset 5: unknown record type 9")
    slots.add(3, SlotState.ELSEWHERE, reason="kproxy-b owns it")
    slots.add(4, SlotState.LEAVING, reason="it is being handed over")
    slots.add(5, SlotState.UNASSIGNED, reason="it is on the way to its next owner")

    # When
    checks = slot_checks(slots.statuses())

    # Then
    assert checks == [
        CheckResult("slot_0", ""),
        CheckResult("slot_1", "loading"),
        CheckResult("slot_2", "offset 5: unknown record type 9"),
        CheckResult("slot_3", ""),
        CheckResult("slot_4", ""),
        CheckResult("slot_5", "it is on the way to its next owner"),
    ]


@pytest.mark.parametrize(
    ("has_others", "doubt"),
    [(True, "1 of 3 slots; slot 2: replaying"), (False, "2 of 3 slots; slot 1: kproxy-b owns it")],
)
def test_slots_that_are_not_told_of_are_a_doubt_unless_others_tell_of_them(
    *, has_others: bool, doubt: str
) -> None:
    # Given
    slots = InMemoryStateLogSlots()
    slots.add(0)
    slots.add(1, SlotState.ELSEWHERE, reason="kproxy-b owns it")
    slots.add(2, SlotState.LOADING, reason="replaying")

    # When
    told = doubt_of_slots(slots.statuses(), 3, has_others=has_others)

    # Then
    assert told == f"not ready: {doubt}"


# ---- on the admin port


def test_the_state_log_is_a_line_for_each_slot() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.state_log.add(0)
    inspectable.state_log.add(1, SlotState.STOPPED, reason="offset 5: unknown record type 9")

    # When
    answer = answer_to(inspectable, "/api/v1/state-log")

    # Then
    facts = {
        "claimEpoch": 40,
        "appliedOffset": 57,
        "recoveryPoint": 41,
        "keyCount": 0,
        "waitingCount": 2,
        "owner": "",
        "leader": None,
        "groupsLeader": None,
        "unwritable": "",
        "downBrokers": [],
    }
    assert answer.body["kind"] == "StateLogSlots"
    assert (answer.body["clusterId"], answer.body["stateTopic"]) == ("cluster-1", "__kproxy_share_state")
    assert answer.body["stateTopicId"] == topic_id_text(STATE_TOPIC.topic_id)
    assert answer.items == [
        {"partition": 0, "state": "ready", "reason": "", **facts},
        {"partition": 1, "state": "stopped", "reason": "offset 5: unknown record type 9", **facts},
    ]


@pytest.mark.parametrize("query", ["", "?at=end"])
def test_the_states_of_a_slot_are_told_with_the_offset_that_they_are_the_state_at(query: str) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.state_log.add(3)
    key = SharePartitionKey(GroupId("workers"), ORDERS, 1)
    inspectable.state_log.written[3][key] = DurableShareState(
        state_epoch=StateEpoch(2),
        leader_epoch=LeaderEpoch(5),
        snapshot_epoch=SnapshotEpoch(9),
        start_offset=100,
        delivery_complete_count=1,
        state_batches=(
            StateBatch(100, 104, RecordState.AVAILABLE, 2),
            StateBatch(105, 105, RecordState.ACKNOWLEDGED, 1),
        ),
    )

    # When
    answer = answer_to(inspectable, f"/api/v1/state-log/3/state{query}")

    # Then
    assert answer.body == {
        "apiVersion": "kproxy/v1",
        "kind": "DurableShareStates",
        "asOf": "2026-11-21T12:00:00.000Z",
        "partition": 3,
        "appliedOffset": 57,
        "items": [
            {
                "groupId": "workers",
                "topicId": ORDERS_TEXT,
                "topicName": "orders",
                "partition": 1,
                "snapshotEpoch": 9,
                "stateEpoch": 2,
                "leaderEpoch": 5,
                "startOffset": 100,
                "deliveryCompleteCount": 1,
                "stateBatches": [
                    {"firstOffset": 100, "lastOffset": 104, "deliveryState": 0, "deliveryCount": 2},
                    {"firstOffset": 105, "lastOffset": 105, "deliveryState": 2, "deliveryCount": 1},
                ],
            }
        ],
    }


def test_the_states_of_a_slot_that_is_not_here_are_not_found() -> None:
    # When
    answer = answer_to(Inspectable(), "/api/v1/state-log/3/state")

    # Then
    assert answer.status == 404
    assert answer.message == "the state log has no slot 3 here"


def test_as_long_as_the_state_log_was_not_found_there_are_no_slots() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.has_state_log = False

    # When
    slots, states = (
        answer_to(inspectable, path) for path in ("/api/v1/state-log", "/api/v1/state-log/0/state")
    )

    # Then
    assert (slots.status, slots.items) == (200, [])
    assert (slots.body["stateTopic"], slots.body["stateTopicId"]) == ("", "")
    assert (states.status, states.message) == (404, "the state log has no slot 0 here")
