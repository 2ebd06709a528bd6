"""Share groups, sessions and records in flight as JSON. tests/unit/admin/test_inspection.py has those not of groups."""

from kproxy.admin.group_lag import NOT_ASKED_FOR
from kproxy.admin.share_views import (
    group_description,
    group_summary,
    in_flight_views,
    session_view,
)
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.share.identifiers import GroupId, TopicIdPartition
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import (
    NOON_MS,
    ORDERS,
    ORDERS_TEXT,
    PAYMENTS,
    Inspectable,
    acquire,
    answer_to,
)
from tests.in_memory.scripted_partition_reader import InMemoryLog


def test_a_summary_says_the_same_as_the_description() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    group = inspectable.coordinator.describe(GroupId("workers"))

    # When
    summary, description = group_summary(group, NOT_ASKED_FOR, now_ms=0), group_description(group)

    # Then
    names = ("group_id", "state", "group_epoch", "assignment_epoch", "assignor_name", "member_count")
    assert [getattr(summary, name) for name in names] == [getattr(description, name) for name in names]


def test_a_session_groups_its_partitions_by_topic_in_the_order_they_were_added() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.open_session("alice", (PAYMENTS, 2), (ORDERS, 1), (PAYMENTS, 0))
    (session,) = inspectable.sessions.sessions()

    # When
    view = session_view(
        session,
        inspectable.topic_names.get,
        lambda _, member_id: f"of {member_id}",
        lambda *_: "/h",
        now_ms=7,
    )

    # Then
    assert [(topic.topic_name, topic.partitions) for topic in view.partitions] == [
        (None, (0, 2)),
        ("orders", (1,)),
    ]
    assert (view.client_id, view.idle_ms) == ("of alice", 7)


def test_the_runs_in_flight_follow_each_other_without_a_gap() -> None:
    # Given
    share_partition = Inspectable().share_partition(StateBatch(100, 102, RecordState.AVAILABLE, 1))
    acquire(share_partition, "alice", 103, 109)

    # When
    views = list(
        in_flight_views(
            share_partition.view(), "orders", lambda _, member_id: f"of {member_id}", now_ms=30_001
        )
    )

    # Then
    assert [(view.first_offset, view.last_offset, view.state) for view in views] == [
        (100, 102, "Available"),
        (103, 109, "Acquired"),
    ]
    assert {view.topic_id for view in views} == {ORDERS_TEXT}
    assert [view.lock_remaining_ms for view in views] == [None, 0]
    assert [view.client_id for view in views] == [None, "of alice"]


def test_the_groups_are_listed_with_their_state() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.join("bob")
    inspectable.join("carol", group_id="auditors")
    inspectable.leave("carol", group_id="auditors")
    acquire(inspectable.share_partition(partition=0, start_offset=4), "alice", 4, 5)
    inspectable.share_partition(partition=1, start_offset=10)
    inspectable.counts[GroupId("workers")] = GroupCounts(7, 2, 3)
    for partition in range(2):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 10, timestamp_ms=NOON_MS - 60_000)

    # When
    answer = answer_to(inspectable, "/api/v1/groups")

    # Then
    assert answer.body == {
        "apiVersion": "kproxy/v1",
        "kind": "ShareGroups",
        "asOf": "2026-11-21T12:00:00.000Z",
        "items": [
            {
                "groupId": "auditors",
                "state": "Empty",
                "groupEpoch": 2,
                "assignmentEpoch": 2,
                "assignorName": "simple",
                "memberCount": 0,
                "lag": None,
                "lagExact": False,
                "oldestAgeMs": None,
                "oldestAgeExact": False,
                "reason": "there is no durable state of it",
                "inFlightCount": 0,
                "oldestLockAgeMs": None,
                "deliveredCount": 0,
                "redeliveredCount": 0,
                "acknowledgedCount": 0,
            },
            {
                "groupId": "workers",
                "state": "Stable",
                "groupEpoch": 2,
                "assignmentEpoch": 1,
                "assignorName": "simple",
                "memberCount": 2,
                "lag": 6,
                "lagExact": True,
                "oldestAgeMs": 60_000,
                "oldestAgeExact": True,
                "reason": "",
                "inFlightCount": 2,
                "oldestLockAgeMs": 1_000,
                "deliveredCount": 7,
                "redeliveredCount": 2,
                "acknowledgedCount": 3,
            },
        ],
    }


def test_groups_are_listed_without_asking_any_broker_for_whoever_wants_no_lag() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.share_partition()
    inspectable.join("alice")

    # When
    answer = answer_to(inspectable, "/api/v1/groups?lag=false")

    # Then
    assert [(each["lag"], each["oldestAgeMs"], each["reason"]) for each in answer.items] == [(None, None, "")]
    assert inspectable.backlogs.asked == []


def test_no_groups_are_an_empty_list() -> None:
    assert answer_to(Inspectable(), "/api/v1/groups").items == []


def test_a_group_is_described_with_its_members_and_its_share_partitions() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    acquire(inspectable.share_partition(), "alice", 100, 109)
    inspectable.share_partition(group_id="others")
    inspectable.counts[GroupId("workers")] = GroupCounts(7, 2, 3)
    log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, 0)] = InMemoryLog()
    log.append([b"a"] * 5000, timestamp_ms=NOON_MS - 60_000)

    # When
    answer = answer_to(inspectable, "/api/v1/groups/workers")

    # Then
    assert answer.body["kind"] == "ShareGroup"
    (group,) = answer.items
    assert group["members"] == [
        {
            "memberId": "alice",
            "rackId": None,
            "memberEpoch": 1,
            "clientId": "client-1",
            "clientHost": "/10.0.0.7",
            "subscribedTopicNames": ["orders"],
            "assignment": [{"topicId": ORDERS_TEXT, "topicName": "orders", "partitions": [0, 1]}],
            "lastHeartbeatAgeMs": 1_000,
            "heartbeatIntervalMs": 5_000,
            "sessionRemainingMs": 44_000,
        }
    ]
    counts = ("inFlightCount", "oldestLockAgeMs", "deliveredCount", "redeliveredCount", "acknowledgedCount")
    assert [group[name] for name in counts] == [10, 1_000, 7, 2, 3]
    of_topic = {"topicId": ORDERS_TEXT, "topicName": "orders"}
    assert group["sharePartitions"] == [
        {
            **of_topic,
            "partition": 0,
            "live": True,
            "startOffset": 100,
            "endOffset": 109,
            "inFlightCount": 10,
            "inFlightLimit": 2_000,
            "inFlightLimitAtGrowth": 2_000,
            "deliveryCompleteCount": 0,
            "logEndOffset": 5000,
            "lag": 4900,
            "oldestAgeMs": 60_000,
            "oldestAgeExact": True,
            "reason": "",
            "lastStableOffset": None,
            "notLiveReason": "",
        },
        {
            **of_topic,
            "partition": 1,
            "live": False,
            "startOffset": None,
            "endOffset": None,
            "inFlightCount": 0,
            "inFlightLimit": None,
            "inFlightLimitAtGrowth": None,
            "deliveryCompleteCount": None,
            "logEndOffset": None,
            "lag": None,
            "oldestAgeMs": None,
            "oldestAgeExact": False,
            "reason": "there is no durable state of it; the cluster has no topic with this id",
            "lastStableOffset": None,
            "notLiveReason": "",
        },
    ]


def test_a_group_is_described_without_asking_any_broker_for_whoever_wants_no_lag() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.share_partition()
    inspectable.join("alice")

    # When
    answer = answer_to(inspectable, "/api/v1/groups/workers?lag=false")

    # Then
    assert [each["lag"] for each in answer.items[0]["sharePartitions"]] == [None, None]
    assert inspectable.backlogs.asked == []


def test_a_group_id_may_hold_any_character() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice", group_id="a/b ü?")

    # When
    answer = answer_to(inspectable, "/api/v1/groups/a%2Fb%20%C3%BC%3F")

    # Then
    assert answer.items[0]["groupId"] == "a/b ü?"


def test_an_unknown_group_is_not_found() -> None:
    # When
    answer = answer_to(Inspectable(), "/api/v1/groups/nobody")

    # Then
    assert answer.status == 404
    assert answer.message == (
        "there is no share group 'nobody': kproxy groups list (/api/v1/groups) shows those that are there"
    )
