"""The endpoints of inspection, on a real admin port."""

import asyncio
from typing import Final

import pytest

from kproxy.admin.json_stream import JsonStreams
from kproxy.admin.local_answers import LocalAnswers, Told
from kproxy.admin.questions import Endpoint, Question
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import (
    ORDERS,
    ORDERS_TEXT,
    PAYMENTS,
    Inspectable,
    acquire,
    answer_to,
)
from tests.in_memory.inspectable_fleet import InspectableFleet

NO_SUCH_GROUP: Final = (
    "there is no share group 'nobody': kproxy groups list (/api/v1/groups) shows those that are there"
)


@pytest.mark.parametrize("path", ["/api/v1/sessions?group=nobody", "/api/v1/in-flight?group=nobody"])
def test_what_is_asked_of_an_unknown_group_is_not_found(path: str) -> None:
    # When
    answer = answer_to(Inspectable(), path)

    # Then
    assert (answer.status, answer.message) == (404, NO_SUCH_GROUP)


@pytest.mark.parametrize("path", ["/api/v1/sessions?group=workers", "/api/v1/in-flight?group=workers"])
def test_a_known_group_without_anything_to_show_is_an_empty_list(path: str) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")

    # When
    answer = answer_to(inspectable, path)

    # Then
    assert (answer.status, answer.items) == (200, [])


# ---- sessions


def test_the_sessions_are_listed_with_their_partitions() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.open_session("alice", (ORDERS, 1), (ORDERS, 0), (PAYMENTS, 4), node_id=3)

    # When
    answer = answer_to(inspectable, "/api/v1/sessions")

    # Then
    assert answer.body["kind"] == "ShareSessions"
    assert answer.items == [
        {
            "groupId": "workers",
            "memberId": "alice",
            "clientId": "",
            "nodeId": 3,
            "connectionId": 1,
            "nextEpoch": 1,
            "idleMs": 1000,
            "fetching": False,
            "partitionCount": 3,
            "partitions": [
                {"topicId": ORDERS_TEXT, "topicName": "orders", "partitions": [0, 1]},
                {"topicId": "dG9waWMtaWQtcGF5bWVudA", "topicName": None, "partitions": [4]},
            ],
            "clientHost": "",
            "principal": "User:ANONYMOUS",
            "lastHeartbeatAgeMs": None,
        }
    ]


def test_a_session_says_when_its_member_was_heard_last() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.open_session("alice", (ORDERS, 0))

    # When
    (session,) = answer_to(inspectable, "/api/v1/sessions").items

    # Then
    assert session["lastHeartbeatAgeMs"] == 1_000


@pytest.mark.parametrize(
    ("query", "members"),
    [
        ("?group=workers", ["alice", "bob"]),
        ("?member=bob", ["bob"]),
        ("?group=auditors&member=carol", ["carol"]),
    ],
)
def test_sessions_can_be_narrowed_to_a_group_and_a_member(query: str, members: list[str]) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.open_session("alice")
    inspectable.open_session("bob")
    inspectable.open_session("carol", group_id="auditors")

    # When
    answer = answer_to(inspectable, f"/api/v1/sessions{query}")

    # Then
    assert [session["memberId"] for session in answer.items] == members


# ---- in flight


def test_records_in_flight_are_listed_as_runs_of_offsets() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition(
        StateBatch(100, 104, RecordState.AVAILABLE, 2), StateBatch(105, 105, RecordState.ACKNOWLEDGED, 1)
    )
    acquire(share_partition, "alice", 106, 109)

    # When
    answer = answer_to(inspectable, "/api/v1/in-flight")

    # Then
    of_partition = {"groupId": "workers", "topicId": ORDERS_TEXT, "topicName": "orders", "partition": 0}
    held_by_nobody = {"memberId": None, "clientId": None, "lockRemainingMs": None, "lockDurationMs": None}
    of_window = {"deliveryCountLimit": 5, "blockedBy": 100, "live": True}
    assert answer.body["kind"] == "InFlightRecords"
    assert answer.items == [
        {
            **of_partition,
            "firstOffset": 100,
            "lastOffset": 104,
            "state": "Available",
            "deliveryCount": 2,
            **held_by_nobody,
            **of_window,
            "blockedBy": None,
        },
        {
            **of_partition,
            "firstOffset": 105,
            "lastOffset": 105,
            "state": "Acknowledged",
            "deliveryCount": 1,
            **held_by_nobody,
            **of_window,
        },
        {
            **of_partition,
            "firstOffset": 106,
            "lastOffset": 109,
            "state": "Acquired",
            "deliveryCount": 1,
            "memberId": "alice",
            "clientId": "client-1",
            "lockRemainingMs": 29_000,
            "lockDurationMs": 30_000,
            **of_window,
        },
    ]


@pytest.mark.parametrize(
    ("query", "first_offsets"),
    [
        ("?state=acquired", [106]),
        ("?state=Available", [100]),
        ("?member=alice", [106]),
        ("?deliveries=2", [100]),
        ("?held=1000", [106]),
        ("?held=1001", []),
        ("?deliveries=1&state=acknowledged", [105]),
    ],
)
def test_runs_are_chosen_by_state_member_deliveries_and_for_how_long_they_are_held(
    query: str, first_offsets: list[int]
) -> None:
    # Given
    inspectable = Inspectable()
    share_partition = inspectable.share_partition(
        StateBatch(100, 104, RecordState.AVAILABLE, 2), StateBatch(105, 105, RecordState.ACKNOWLEDGED, 1)
    )
    acquire(share_partition, "alice", 106, 109)

    # When
    answer = answer_to(inspectable, f"/api/v1/in-flight{query}")

    # Then
    assert [run["firstOffset"] for run in answer.items] == first_offsets


def test_a_record_is_held_since_it_was_acquired_though_locks_last_for_less_by_now() -> None:
    # Given
    inspectable = Inspectable()
    share_partition = inspectable.share_partition()
    acquire(share_partition, "alice", 100, 109)
    share_partition.limits = ShareLimits(record_lock_duration_ms=15_000)

    # When
    answer = answer_to(inspectable, "/api/v1/in-flight?held=1000")

    # Then
    (run,) = answer.items
    assert (run["lockRemainingMs"], run["lockDurationMs"]) == (29_000, 30_000)


def test_a_member_that_holds_nothing_and_is_in_no_group_is_not_there() -> None:
    # Given
    inspectable = Inspectable()
    acquire(inspectable.share_partition(), "alice", 100, 109)

    # When
    answer = answer_to(inspectable, "/api/v1/in-flight?member=bob")

    # Then
    assert answer.status == 404


def test_a_lock_that_has_ended_already_remains_for_nothing() -> None:
    # Given
    inspectable = Inspectable()
    acquire(inspectable.share_partition(), "alice", 100, 109)
    inspectable.clock.advance(60_000)

    # When
    answer = answer_to(inspectable, "/api/v1/in-flight")

    # Then
    assert [run["lockRemainingMs"] for run in answer.items] == [0]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?group=workers", [("workers", "orders", 0), ("workers", "orders", 1), ("workers", None, 0)]),
        ("?topic=orders", [("auditors", "orders", 0), ("workers", "orders", 0), ("workers", "orders", 1)]),
        (
            f"?topic={ORDERS_TEXT}&partition=0",
            [("auditors", "orders", 0), ("workers", "orders", 0)],
        ),
        ("?group=workers&topic=orders&partition=1", [("workers", "orders", 1)]),
        ("?partition=7", []),
    ],
)
def test_records_in_flight_can_be_narrowed(query: str, found: list[tuple[str, str | None, int]]) -> None:
    # Given
    inspectable = Inspectable()
    for group_id, topic_id, partition in [
        ("workers", PAYMENTS, 0),
        ("workers", ORDERS, 1),
        ("workers", ORDERS, 0),
        ("auditors", ORDERS, 0),
    ]:
        share_partition = inspectable.share_partition(
            group_id=group_id, topic_id=topic_id, partition=partition
        )
        acquire(share_partition, "alice", 100, 100)

    # When
    answer = answer_to(inspectable, f"/api/v1/in-flight{query}")

    # Then
    assert [(run["groupId"], run["topicName"], run["partition"]) for run in answer.items] == found


# ---- what is refused


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/api/v1/groups?state=Stable", "unknown query parameter 'state'; known: lag, scope"),
        ("/api/v1/groups?lag=yes", "lag='yes': expected true or false"),
        ("/api/v1/groups/workers?x=1", "unknown query parameter 'x'; known: lag, scope"),
        ("/api/v1/groups/workers?lag=no", "lag='no': expected true or false"),
        ("/api/v1/sessions?topic=orders", "unknown query parameter 'topic'; known: group, member, scope"),
        (
            "/api/v1/in-flight?groups=g",
            "unknown query parameter 'groups'; known: group, topic, partition, state, member, deliveries, held, scope",
        ),
        ("/api/v1/in-flight?partition=x", "partition='x': expected a number from 0 to 2147483647"),
        ("/api/v1/in-flight?group=a&group=b", "query parameter 'group' is given more than once"),
        ("/api/v1/state-log?at=end", "unknown query parameter 'at'; known: scope"),
        ("/api/v1/state-log/one/state", "partition='one': expected a number from 0 to 2147483647"),
        ("/api/v1/state-log/1/state?at=5", "at='5': expected end"),
    ],
)
def test_a_request_that_makes_no_sense_is_told_why(path: str, complaint: str) -> None:
    # When
    answer = answer_to(Inspectable(), path)

    # Then
    assert answer.status == 400
    assert answer.message == complaint


def test_more_long_answers_than_allowed_are_put_off() -> None:
    # When
    answer = answer_to(Inspectable(streams=JsonStreams(max_streams=0)), "/api/v1/groups")

    # Then
    assert answer.status == 503
    assert answer.message == "0 long answers are being written already; try again"


# ---- what changes while an answer is written


async def both(local: LocalAnswers) -> tuple[Told, Told]:
    return (
        await local.answer(Question(Endpoint.SESSIONS)),
        await local.answer(Question(Endpoint.IN_FLIGHT)),
    )


def test_what_is_gone_by_the_time_it_is_due_is_left_out() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.open_session("alice")
    inspectable.open_session("bob")
    first, second = inspectable.share_partition(partition=0), inspectable.share_partition(partition=1)
    acquire(first, "alice", 100, 100)
    acquire(second, "alice", 100, 100)
    local = LocalAnswers(inspectable.inspected())
    sessions, runs = (iter(told.items) for told in asyncio.run(both(local)))
    begun = [next(sessions)["memberId"], next(runs)["partition"]]

    # When
    del inspectable.live[second.key]
    inspectable.sessions.evict_connection(2)

    # Then
    assert begun == ["alice", 0]
    assert [*sessions, *runs] == []


# ---- several processes


def two_processes() -> InspectableFleet:
    fleet = InspectableFleet("kproxy-a", "kproxy-b")
    for name in fleet.processes:
        fleet.processes[name].join("alice", group_id=fleet.group_of(name))
        fleet.processes[name].open_session("alice", group_id=fleet.group_of(name))
    return fleet


@pytest.mark.parametrize("path", ["/api/v1/groups", "/api/v1/sessions", "/api/v1/state-log"])
def test_the_admin_ports_of_two_processes_answer_the_same(path: str) -> None:
    # Given
    fleet = two_processes()

    # When
    answers = [answer_to(process, path) for process in fleet.processes.values()]

    # Then
    assert len(answers[0].items) == 2
    assert answers[0].items == answers[1].items


def test_a_group_of_another_process_is_described_as_that_describes_it() -> None:
    # Given
    fleet = two_processes()
    path = f"/api/v1/groups/{fleet.group_of('kproxy-b')}"

    # When
    answers = [answer_to(process, path) for process in fleet.processes.values()]

    # Then
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].items == answers[1].items


def test_answers_that_hold_what_others_told_are_counted_before_anybody_is_asked() -> None:
    # Given
    fleet = two_processes()
    fleet.processes["kproxy-a"].streams = JsonStreams(max_streams=0)

    # When
    answer = answer_to(fleet.processes["kproxy-a"], "/api/v1/sessions")

    # Then
    assert (answer.status, fleet.asked) == (503, [])
