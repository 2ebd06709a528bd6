"""`kproxy groups` against a real admin port."""

import json

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from tests.in_memory.inspectable import Inspectable, acquire, serving


def run(inspectable: Inspectable, *arguments: str) -> Result:
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["groups", *arguments, "--admin-url", url])


def two_groups() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice", client_id="client-\x1b[31m1")
    inspectable.join("carol", group_id="auditors")
    inspectable.leave("carol", group_id="auditors")
    acquire(inspectable.share_partition(), "alice", 100, 109)
    return inspectable


def test_groups_are_listed_with_their_state() -> None:
    # When
    result = run(two_groups(), "list")

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["GROUP     STATE", "workers   Stable", "auditors  Empty"]


def test_the_wide_list_has_epochs_and_members() -> None:
    # When
    result = run(two_groups(), "list", "-o", "wide", "--no-headers")

    # Then
    assert result.stdout.splitlines() == ["workers   Stable  1  1  1", "auditors  Empty   2  2  0"]


def test_the_json_is_what_the_admin_port_answered() -> None:
    # When
    result = run(two_groups(), "list", "-o", "json")

    # Then
    answer = json.loads(result.stdout)
    assert answer["kind"] == "ShareGroups"
    assert [group["groupId"] for group in answer["items"]] == ["workers", "auditors"]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (
            [],
            ["GROUP    TOPIC   PARTITION  START-OFFSET  LAG", "workers  orders  0          100           -"],
        ),
        (
            ["--state"],
            ["GROUP    COORDINATOR (ID)  STATE   #MEMBERS", "workers  -                 Stable  1"],
        ),
        (
            ["--members"],
            [
                "GROUP    CONSUMER-ID  HOST       CLIENT-ID         #PARTITIONS  ASSIGNMENT",
                "workers  alice        /10.0.0.7  client-\\x1b[31m1  2            orders:0,1",
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
    assert result.stderr == "Error: there is no share group 'nobody'\n"


def test_nobody_there_is_a_failure_to_connect() -> None:
    # Given
    with serving(Inspectable().server()) as url:
        gone = url

    # When
    result = CliRunner().invoke(cli, ["groups", "list", "--admin-url", gone])

    # Then
    assert result.exit_code == 4
    assert result.stderr.startswith(f"Error: cannot reach {gone}/api/v1/groups: ")
