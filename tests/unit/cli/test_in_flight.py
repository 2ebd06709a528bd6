"""`kproxy in-flight` against a real admin port."""

import json

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import PAYMENTS, Inspectable, acquire, serving


def run(inspectable: Inspectable, *arguments: str) -> Result:
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["in-flight", "list", *arguments, "--admin-url", url])


def records_in_flight() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition(StateBatch(100, 104, RecordState.AVAILABLE, 2))
    acquire(share_partition, "alice", 105, 109)
    acquire(inspectable.share_partition(topic_id=PAYMENTS, partition=3), "bob", 100, 100)
    return inspectable


def test_runs_in_flight_are_listed_with_who_holds_them() -> None:
    # When
    result = run(records_in_flight(), "--topic", "orders")

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "GROUP    TOPIC   PARTITION  FIRST-OFFSET  LAST-OFFSET  STATE      DELIVERIES  CONSUMER-ID  CLIENT-ID  LOCK-MS",
        "workers  orders  0          100           104          Available  2           -            -          -",
        "workers  orders  0          105           109          Acquired   1           alice        client-1   29000",
    ]


def test_who_is_not_in_the_group_any_more_holds_without_a_client_id() -> None:
    # When
    result = run(records_in_flight(), "-p", "3", "--no-headers")

    # Then
    assert result.stdout.split()[-3:] == ["bob", "-", "29000"]


def test_where_nobody_holds_a_record_the_help_says_who_can_tell_who_had_it() -> None:
    assert "kproxy log audit" in run(Inspectable(), "--help").stdout


def test_they_can_be_narrowed() -> None:
    # When
    result = run(records_in_flight(), "-g", "workers", "-p", "3", "-o", "json")

    # Then
    assert [run["memberId"] for run in json.loads(result.stdout)["items"]] == ["bob"]


def test_a_topic_without_a_name_is_shown_by_its_id() -> None:
    # When
    result = run(records_in_flight(), "-p", "3", "--no-headers")

    # Then
    assert result.stdout.split()[1] == "dG9waWMtaWQtcGF5bWVudA"


def test_a_partition_is_a_number() -> None:
    assert run(Inspectable(), "-p", "-1").exit_code == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("-g", "nobody"),
            "there is no share group 'nobody': kproxy groups list (/api/v1/groups) shows those that are there",
        ),
        (("-t", "oders"), "no share group has a topic 'oders'; there is orders"),
        (
            ("-g", "workers", "-t", "oders"),
            "share group 'workers' does not have a topic 'oders'; there is orders",
        ),
        (
            ("-g", "workers", "-t", "orders", "-p", "7"),
            "there is no partition 7: topic 'orders' has 2 partitions, numbered from 0",
        ),
    ],
)
def test_a_name_that_nobody_knows_is_not_found(options: tuple[str, ...], complaint: str) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")

    # When
    result = run(inspectable, *options)

    # Then
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"Error: {complaint}\n"


def test_a_known_group_without_any_is_an_empty_table_and_says_where_to_look() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")

    # When
    result = run(inspectable, "-g", "workers", "--no-headers")

    # Then
    assert (result.exit_code, result.stdout) == (0, "")
    assert "kproxy groups describe shows what waits" in result.stderr


def test_runs_are_chosen_by_state_member_attempts_and_how_long_they_are_held() -> None:
    # When
    result = run(
        records_in_flight(),
        *("--state", "acquired", "--member", "alice", "--deliveries", "1", "--held", "1000"),
        *("-o", "csv", "--no-headers"),
    )

    # Then
    assert result.stdout == "workers,orders,0,105,109,Acquired,1,alice,client-1,29000,30000,5,100,yes\n"
