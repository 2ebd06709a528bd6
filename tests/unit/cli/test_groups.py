"""`kproxy groups` against a real admin port."""

import json

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.share.identifiers import GroupId, TopicIdPartition
from kproxy.statelog.partitioning import group_partition
from tests.in_memory.inspectable import NOON_MS, ORDERS, Inspectable, acquire, serving
from tests.in_memory.scripted_partition_reader import InMemoryLog


def run(inspectable: Inspectable, *arguments: str) -> Result:
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["groups", *arguments, "--admin-url", url])


def two_groups() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice", client_id="client-\x1b[31m1")
    inspectable.join("carol", group_id="auditors")
    inspectable.leave("carol", group_id="auditors")
    acquire(inspectable.share_partition(), "alice", 100, 109)
    log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, 0)] = InMemoryLog()
    log.append([b"a"] * 5000, timestamp_ms=NOON_MS - 5_400_000)
    return inspectable


def test_groups_are_listed_with_their_state() -> None:
    # When
    result = run(two_groups(), "list")

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "GROUP     STATE   LAG    OLDEST-AGE",
        "auditors  Empty   -      -",
        "workers   Stable  >4900  >1h30m",
    ]
    assert result.stderr.splitlines() == [
        "auditors: there is no durable state of it",
        "workers: there is no durable state of it; the cluster has no topic with this id",
    ]


def test_a_group_that_is_stuck_shows_in_the_list_whether_or_not_anybody_fetches_from_it() -> None:
    # Given
    inspectable = two_groups()
    log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, 1)] = InMemoryLog()
    log.append([b"a"] * 10, timestamp_ms=NOON_MS - 7_500_000)
    inspectable.write_state(0, start_offset=5000, group_id="auditors")
    inspectable.write_state(1, start_offset=7, group_id="auditors")
    inspectable.write_state(1, start_offset=10)

    # When
    result = run(inspectable, "list", "--no-headers")

    # Then
    assert result.stdout.splitlines() == ["auditors  Empty   3     2h05m", "workers   Stable  4900  1h30m"]
    assert result.stderr == ""


def test_groups_are_listed_by_state() -> None:
    # When
    table, answer = (run(two_groups(), "list", "--state", "empty", "-o", form) for form in ("table", "json"))

    # Then
    assert [line.split()[0] for line in table.stdout.splitlines()] == ["GROUP", "auditors"]
    assert [group["groupId"] for group in json.loads(answer.stdout)["items"]] == ["auditors"]
    assert table.stderr == "auditors: there is no durable state of it\n"


@pytest.mark.parametrize("aspect", ["members", "offsets"])
def test_an_aspect_of_its_own_is_that_of_the_description(aspect: str) -> None:
    # When
    alone, described = (
        run(two_groups(), *command, "--all-groups") for command in ([aspect], ["describe", f"--{aspect}"])
    )

    # Then
    assert alone.exit_code == 0
    assert alone.stdout == described.stdout
    assert alone.stdout.splitlines()[-1].startswith("workers")


def test_a_time_limit_of_the_wire_is_wrong_usage_of_the_admin_port() -> None:
    # When
    result = run(two_groups(), "list", "--timeout", "1000")

    # Then
    assert result.exit_code == 2
    assert "--timeout goes with --bootstrap-server" in result.stderr


def test_the_wide_list_has_epochs_and_members() -> None:
    # When
    result = run(two_groups(), "list", "-o", "wide", "--no-headers")

    # Then
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["auditors", "Empty", "-", "-", "2", "2", "0"],
        ["workers", "Stable", ">4900", ">1h30m", "1", "1", "1"],
    ]


def test_the_json_is_what_the_admin_port_answered() -> None:
    # When
    result = run(two_groups(), "list", "-o", "json")

    # Then
    answer = json.loads(result.stdout)
    assert answer["kind"] == "ShareGroups"
    assert [group["groupId"] for group in answer["items"]] == ["auditors", "workers"]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (
            [],
            [
                "GROUP    TOPIC   PARTITION  START-OFFSET  LAG   LOG-END-OFFSET  OLDEST-AGE",
                "workers  orders  0          100           4900  5000            1h30m",
                "workers  orders  1          -             -     -               -",
            ],
        ),
        (
            ["--state"],
            ["GROUP    COORDINATOR (ID)  STATE   #MEMBERS", "workers  -                 Stable  1"],
        ),
        (
            ["--members"],
            [
                "GROUP    CONSUMER-ID  HOST       CLIENT-ID         #PARTITIONS  ASSIGNMENT  HEARTBEAT-AGE",
                "workers  alice        /10.0.0.7  client-\\x1b[31m1  2            orders:0,1  1.0s",
            ],
        ),
    ],
)
def test_a_group_is_described_in_the_columns_of_kafkas_own_tool(options: list[str], lines: list[str]) -> None:
    # When
    result = run(two_groups(), "describe", "workers", *options)

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == lines


def test_the_wide_description_has_the_window_behind_the_offsets_of_the_log() -> None:
    # Given
    inspectable = two_groups()
    for slot in range(3):
        inspectable.state_log.add(slot)

    # When
    result = run(inspectable, "describe", "workers", "-o", "wide")

    # Then
    assert result.stdout.splitlines()[0].split() == [
        *("GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG", "LOG-END-OFFSET", "OLDEST-AGE"),
        *("LIVE", "WINDOW-END", "IN-FLIGHT", "COMPLETE", "SLOT"),
    ]
    assert result.stdout.splitlines()[1].split() == [
        *("workers", "orders", "0", "100", "4900", "5000", "1h30m"),
        *("yes", "109", "10", "0", f"{group_partition(GroupId('workers'), 3)}"),
    ]


def test_the_slot_of_a_group_stands_in_its_wide_state_as_far_as_it_is_known() -> None:
    # When
    result = run(two_groups(), "describe", "workers", "--state", "-o", "wide")

    # Then
    assert [line.split()[-1] for line in result.stdout.splitlines()] == ["SLOT", "-"]


def test_why_something_is_not_known_stands_beside_the_table() -> None:
    # When
    result = run(two_groups(), "describe", "auditors")

    # Then
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "orders-0: there is no durable state of it",
        "orders-1: there is no durable state of it; the cluster has no topic with this id",
    ]


def test_the_same_reason_of_many_share_partitions_is_said_once() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")

    # When
    result = run(inspectable, "describe", "workers")

    # Then
    assert result.stderr.splitlines() == [
        "orders-0 and 1 more: there is no durable state of it; the cluster has no topic with this id"
    ]


@pytest.mark.parametrize(
    "arguments", [("auditors", "workers"), ("-g", "auditors", "--group", "workers"), ("--all-groups",)]
)
def test_several_groups_are_described_as_one_table(arguments: tuple[str, ...]) -> None:
    # When
    result = run(two_groups(), "describe", *arguments, "--state", "--no-headers")

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["auditors  -  Empty   0", "workers   -  Stable  1"]


def test_several_groups_are_one_answer_in_json() -> None:
    # When
    answer = json.loads(run(two_groups(), "describe", "--all-groups", "-o", "json").stdout)

    # Then
    assert answer["kind"] == "ShareGroup"
    assert [group["groupId"] for group in answer["items"]] == ["auditors", "workers"]
    assert answer["items"][1]["sharePartitions"][0]["lag"] == 4900


def test_why_something_is_not_known_of_one_group_of_several_names_the_group() -> None:
    # When
    result = run(two_groups(), "describe", "--all-groups")

    # Then
    assert result.stderr.splitlines() == [
        "auditors: orders-0: there is no durable state of it",
        "auditors: orders-1 and 1 more: there is no durable state of it; the cluster has no topic with this id",
    ]


def test_a_group_that_is_missing_keeps_nobody_from_seeing_the_others() -> None:
    # When
    result = run(two_groups(), "describe", "nobody", "auditors", "--state", "--no-headers")

    # Then
    assert result.exit_code == 3
    assert result.stdout.splitlines() == ["auditors  -  Empty  0"]
    assert result.stderr.startswith("Error: there is no share group 'nobody': ")


@pytest.mark.parametrize("arguments", [(), ("workers", "--all-groups")])
def test_which_groups_are_described_is_said_one_way(arguments: tuple[str, ...]) -> None:
    # When
    result = run(two_groups(), "describe", *arguments)

    # Then
    assert result.exit_code == 2
    assert "give one GROUP or more, or --all-groups" in result.stderr


def test_all_of_no_groups_is_an_empty_table() -> None:
    # When
    result = run(Inspectable(), "describe", "--all-groups", "--state", "--no-headers")

    # Then
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("aspect", ["--members", "--state"])
def test_what_is_no_matter_of_offsets_asks_no_broker(aspect: str) -> None:
    # Given
    inspectable = two_groups()

    # When
    run(inspectable, "describe", "workers", aspect)

    # Then
    assert inspectable.backlogs.asked == []


def test_a_group_without_members_says_so_beside_the_table() -> None:
    # When
    result = run(two_groups(), "describe", "auditors", "--members", "--no-headers")

    # Then
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == "Share group 'auditors' has no active members.\n"


def test_an_unknown_group_is_not_found() -> None:
    # When
    result = run(Inspectable(), "describe", "nobody")

    # Then
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr == (
        "Error: there is no share group 'nobody': "
        "kproxy groups list (/api/v1/groups) shows those that are there\n"
    )


def test_nobody_there_is_a_failure_to_connect() -> None:
    # Given
    with serving(Inspectable().server()) as url:
        gone = url

    # When
    result = CliRunner().invoke(cli, ["groups", "list", "--admin-url", gone])

    # Then
    assert result.exit_code == 4
    assert result.stderr.startswith(f"Error: cannot reach {gone}/api/v1/groups?lag=true: ")
