"""`kproxy top` off a terminal, against a real admin port."""

import json

from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.share.identifiers import GroupId, TopicIdPartition
from tests.in_memory.inspectable import NOON_MS, ORDERS, Inspectable, acquire, serving
from tests.in_memory.scripted_partition_reader import InMemoryLog


def groups() -> Inspectable:
    """Two groups: one that lags, one with nothing to do."""
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.join("bob", group_id="idle")
    acquire(inspectable.share_partition(start_offset=10), "alice", 10, 14)
    inspectable.share_partition(partition=1, start_offset=20)
    inspectable.share_partition(group_id="idle", start_offset=20)
    inspectable.share_partition(group_id="idle", start_offset=20, partition=1)
    for partition in (0, 1):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 20, timestamp_ms=NOON_MS - 60_000)
    inspectable.counts[GroupId("workers")] = GroupCounts(7, 2, 3)
    return inspectable


def run(*arguments: str) -> Result:
    with serving(groups().server()) as url:
        return CliRunner().invoke(cli, ["top", "--interval", "0.1", "--admin-url", url, *arguments])


def test_off_a_terminal_it_is_one_table_with_the_worst_group_first() -> None:
    # When
    result = run()

    # Then
    assert result.stdout.splitlines() == [
        "GROUP    STATE   #MEMBERS  LAG  OLDEST-AGE  IN-FLIGHT  ACK/S  DELIVERED/S  REDELIVERED/S  OLDEST-LOCK",
        "workers  Stable  1         10   1m00s       5          0.0    0.0          0.0            1.0s",
        "idle     Stable  1         0    -           0          0.0    0.0          0.0            -",
    ]


def test_several_tables_have_an_empty_line_between_them() -> None:
    # When
    result = run("--count", "2", "--sort", "name", "--no-headers")

    # Then
    names = [line.partition(" ")[0] for line in result.stdout.splitlines()]
    assert names == ["idle", "workers", "", "idle", "workers"]


def test_scripts_get_the_rates_as_fields() -> None:
    # When
    result = run("-o", "jsonl", "--filter", "WORK")

    # Then
    (line,) = result.stdout.splitlines()
    row = json.loads(line)
    assert (row["groupId"], row["acknowledgedPerSecond"], row["redeliveredCount"]) == ("workers", 0.0, 2)


def test_where_nobody_answers_it_fails_as_other_commands_do() -> None:
    assert CliRunner().invoke(cli, ["top", "--admin-url", "http://127.0.0.1:1"]).exit_code == 4
