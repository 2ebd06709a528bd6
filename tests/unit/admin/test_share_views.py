"""Share groups, sessions and records in flight as JSON. tests/unit/admin/test_inspection.py shows every field."""

from kproxy.admin.share_views import (
    group_description,
    group_summary,
    in_flight_views,
    session_view,
)
from kproxy.share.identifiers import GroupId
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import ORDERS, ORDERS_TEXT, PAYMENTS, Inspectable, acquire


def test_a_summary_says_the_same_as_the_description() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    group = inspectable.coordinator.describe(GroupId("workers"))

    # When
    summary, description = group_summary(group), group_description(group)

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
        session, inspectable.topic_names.get, lambda _, member_id: f"of {member_id}", now_ms=7
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
