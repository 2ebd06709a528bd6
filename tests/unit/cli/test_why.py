"""`kproxy why` against a real admin port."""

import json

from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.share.identifiers import TopicIdPartition
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import NOON_MS, ORDERS, Inspectable, acquire, serving
from tests.in_memory.scripted_partition_reader import InMemoryLog


def run(inspectable: Inspectable, *arguments: str) -> Result:
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["why", "-g", "workers", *arguments, "--admin-url", url])


def stuck_group() -> Inspectable:
    """One of 5,000 records is held by alice, and those behind it are done with; nobody fetches from partition 1."""
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition(
        StateBatch(100, 100, RecordState.AVAILABLE, 1), StateBatch(101, 199, RecordState.ACKNOWLEDGED, 1)
    )
    acquire(share_partition, "alice", 100, 100)
    inspectable.open_session("alice", (ORDERS, 0))
    for partition in (0, 1):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 5000, timestamp_ms=NOON_MS - 7_500_000)
    return inspectable


def test_the_record_that_blocks_a_group_is_told_with_who_holds_it_and_what_comes_next() -> None:
    # When
    result = run(stuck_group(), "-p", "0")

    # Then
    assert result.stdout.splitlines() == [
        "workers is Stable: 1 member, lag not known",
        "",
        "orders, partition 0: its oldest unfinished record has waited 2h05m",
        "  alice (client-1) holds offset 100",
        "  lag:         4801 records",
        "  blocked by:  offset 100, Acquired, attempt 2 of 5",
        "  behind it:   99 Acknowledged",
        "  held by:     alice (client-1), since 1.0 s, last heartbeat 1.0 s ago, last request 1.0 s ago",
        "  next:        its lock ends in 29.0 s, then it is for any member: attempt 3 of 5",
    ]


def test_scripts_get_the_findings_as_items() -> None:
    # When
    result = run(stuck_group(), "-o", "json")

    # Then
    items = json.loads(result.stdout)["items"]
    assert [(each["partition"], each["verdict"]) for each in items] == [
        (0, "alice (client-1) holds offset 100"),
        (1, "nobody fetches: it is assigned to alice (client-1), without a share session for it"),
    ]
    assert items[0]["blockedBy"] == "offset 100, Acquired, attempt 2 of 5"


def test_a_group_with_nothing_to_do_is_said_to_be_done() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice", group_id="workers")
    inspectable.leave("alice", group_id="workers")

    # When
    result = run(inspectable)

    # Then
    assert result.stdout.splitlines()[0].startswith("workers is Empty: 0 members")


def test_a_partition_that_is_not_there_is_exit_code_3() -> None:
    # When
    result = run(stuck_group(), "-t", "orders", "-p", "7")

    # Then
    assert (result.exit_code, result.stderr) == (
        3,
        "Error: share group 'workers' has nothing of topic 'orders' partition 7; it consumes orders\n",
    )
