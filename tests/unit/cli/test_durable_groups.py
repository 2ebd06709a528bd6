"""`kproxy in-flight` and `sessions` with `--from-log`, over a log in memory."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from kproxy.cli import log_reading
from kproxy.cli.main import cli
from kproxy.clients import topic_reader
from kproxy.clients.failures import CannotConnect
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import MemberImage, ShareGroupImage, StatePartitions
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_parts import parts_of
from kproxy.statelog.group_records import GroupConfigs, RecoveryPoint, encode_group_record
from tests.in_memory.log_in_memory import LogInMemory, names_of_jobs
from tests.worlds.consumptions import TOPIC_ID, Step, consumption_of

ORDERS_0 = GroupId("orders-0")
WHERE = ("--from-log", "-b", "kafka-1:9092")
PLACE = ("-g", "orders-0", "-t", "jobs", "-p", "0")


def a_group() -> ShareGroupImage:
    jobs = {TOPIC_ID: StatePartitions("jobs", frozenset({0}))}
    assigned = frozenset({TopicIdPartition(TOPIC_ID, 0), TopicIdPartition(TOPIC_ID, 1)})
    alice = MemberImage(
        None, "worker-1", "/10.0.0.7", frozenset({"jobs"}), MemberEpoch(2), MemberEpoch(1), assigned
    )
    return ShareGroupImage(
        ORDERS_0, GroupEpoch(3), AssignmentEpoch(3), {MemberId("alice"): alice}, {}, {}, jobs, {}
    )


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    made = consumption_of(
        0,
        [
            Step(0, "lock-timeout", "alice", 0, 2, 1000),
            Step(0, "accept", "bob", 2, 3, 1000),
            Step(0, "reject", "bob", 7, 1, 1000),
        ],
    )
    records = [
        Claim("first:1", 1),
        *parts_of(a_group()),
        GroupConfigs(ORDERS_0, {"share.delivery.count.limit": "3"}),
    ]
    groups = [
        encode_group_record(record, claim_epoch=None if isinstance(record, Claim) else 0)
        for record in records
    ]
    topics = LogInMemory(made.records, [replace(each, offset=place) for place, each in enumerate(groups)])
    monkeypatch.setattr(topic_reader, "connected", topics.opened)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, *WHERE])


def test_the_runs_are_those_that_a_kproxy_would_find_that_starts_now() -> None:
    # When
    result = run("in-flight", "list", "-g", "orders-0", "-p", "0")

    # Then
    assert result.exit_code == 0, result.output
    assert [line.split()[:7] for line in result.stdout.splitlines()[1:]] == [
        ["orders-0", "jobs", "0", "0", "1", "Available", "1"],
        ["orders-0", "jobs", "0", "2", "4", "Acknowledged", "1"],
        ["orders-0", "jobs", "0", "5", "6", "Available", "0"],
        ["orders-0", "jobs", "0", "7", "7", "Archived", "1"],
    ]
    assert "acquisitions are not" in result.stderr


def test_they_can_be_narrowed_and_come_in_the_form_of_the_admin_port() -> None:
    # When
    result = run("in-flight", "list", "--state", "available", "--deliveries", "1", "-o", "json")

    # Then
    answer = json.loads(result.stdout)
    assert (answer["kind"], answer["source"]) == ("InFlightRecords", "state-log")
    assert [
        (each["firstOffset"], each["deliveryCountLimit"], each["memberId"]) for each in answer["items"]
    ] == [(0, 3, None)]


def test_one_record_is_told_with_what_comes_next() -> None:
    # When
    result = run("in-flight", "show", *PLACE, "1")

    # Then
    assert result.stdout.splitlines()[-1].endswith("the next fetch of this partition gets it: attempt 2 of 3")
    assert "attempt:     1 of 3" in result.stdout


def test_the_window_is_drawn() -> None:
    # When
    result = run("in-flight", "window", *PLACE)

    # Then
    assert result.stdout.splitlines()[1] == "0  ░░───░░x"


def test_a_long_log_is_read_from_where_recovery_would_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    many = [Step(0, "reject", "bob", 0, 1, 1000) for _ in range(20)]
    made = consumption_of(0, [*many, *[Step(place, "snapshot", "bob", 0, 1, 1000) for place in range(3)]])
    point = encode_group_record(RecoveryPoint(len(made.records) - 3), claim_epoch=None)
    topics = LogInMemory(made.records, [names_of_jobs(), point])
    monkeypatch.setattr(topic_reader, "connected", topics.opened)
    monkeypatch.setattr(log_reading.all_of, "__kwdefaults__", {"most": 5, "starts": {}, "unread": None})

    # When
    result = run("in-flight", "list", "-g", "orders-0", "-o", "json")

    # Then
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["items"] == []


def test_a_log_that_lost_all_from_there_on_is_read_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    made = consumption_of(0, [Step(0, "release", "bob", 0, 1, 1000)])
    point = encode_group_record(RecoveryPoint(99), claim_epoch=None)
    topics = LogInMemory(made.records, [names_of_jobs(), point])
    monkeypatch.setattr(topic_reader, "connected", topics.opened)

    # When
    result = run("in-flight", "list", "-g", "orders-0", "-o", "name")

    # Then
    assert (result.exit_code, result.stdout) == (0, "orders-0\n")


def test_the_members_of_a_group_stand_for_its_sessions() -> None:
    # When
    result = run("sessions", "list", "-o", "wide", "--no-headers")

    # Then
    assert result.stdout.split() == ["orders-0", "alice", "worker-1", "/10.0.0.7", "2", "2", "jobs:0,1"]
    assert "not durable" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("in-flight", "list", "-g", "order-0"),
            "there is no share group 'order-0' in __kproxy_share_state; nearest: orders-0",
        ),
        (
            ("in-flight", "window", "-g", "orders-0", "-t", "job", "-p", "0"),
            "there is no topic 'job' in __kproxy_share_state; nearest: jobs",
        ),
        (
            ("sessions", "list", "-m", "alic"),
            "there is no member 'alic' in __kproxy_share_groups; nearest: alice",
        ),
        (
            ("sessions", "list", "-g", "order-0"),
            "there is no share group 'order-0' in __kproxy_share_groups; nearest: orders-0",
        ),
        (
            ("in-flight", "show", *PLACE, "99"),
            "offset 99 is not in flight, 0 to 7 are: nobody has fetched it yet",
        ),
    ],
)
def test_what_is_not_there_is_exit_code_3_with_the_nearest_names(
    arguments: Sequence[str], complaint: str
) -> None:
    # When
    result = run(*arguments)

    # Then
    assert result.exit_code == 3, result.output
    assert f"Error: {complaint}" in result.stderr


def test_a_cluster_that_cannot_be_reached_is_exit_code_4(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    def unreachable(*_: object) -> None:
        raise CannotConnect("cannot reach the backing cluster at kafka-1:9092: nobody answers")

    monkeypatch.setattr(topic_reader, "connected", unreachable)

    # When
    result = run("in-flight", "list")

    # Then
    assert (result.exit_code, result.stderr) == (
        4,
        "Error: cannot reach the backing cluster at kafka-1:9092: nobody answers\n",
    )
