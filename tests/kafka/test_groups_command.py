"""`kproxy groups -b` of a stock broker with share groups and of kproxy: the same lines, and those of Kafka's tool."""

import re
from collections.abc import Mapping, Sequence

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli
from tests.kafka.administered_groups import Groups, on_both
from tests.real_kafka import tools
from tests.real_kafka.administration import produce
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_THREE_BROKERS,
    NATIVE,
    EndpointsOfSession,
)

RECORDS = 10

Printed = tuple[int, list[str], list[str]]
"""Exit code, lines of standard output, lines of standard error."""


def run(groups: Groups, *arguments: str) -> Printed:
    """What a command ends with and prints, in words, with the names that groups and topics have in the test."""
    given = [groups.names.get(each, each.replace("TOPIC", groups.topic)) for each in arguments]
    result = CliRunner().invoke(cli, ["groups", *given, "-b", groups.address], catch_exceptions=False)
    return result.exit_code, words(groups, result.stdout), words(groups, result.stderr)


def words(groups: Groups, printed: str) -> list[str]:
    """The lines about our groups, without the width of columns and the address of the coordinator."""
    told = (groups.relabelled(line) for line in printed.splitlines())
    plain = (re.sub(r"127\.0\.0\.1:\d+ *\(\d+\)", "COORDINATOR", line) for line in told)
    return [" ".join(line.split()) for line in plain]


def story(groups: Groups) -> Mapping[str, Printed]:
    """Every command once, in an order in which each has something to do."""
    produce(groups.address, groups.topic, ["v"] * RECORDS, partition=0)
    commands: Mapping[str, Sequence[str]] = {
        "state": ["describe", "busy", "left", "--state"],
        "members": ["members", "busy", "left"],
        "new offsets": ["describe", "left", "-o", "wide"],
        "unknown": ["describe", "nobody"],
        "another type": ["describe", "plain"],
        "configure wrongly": ["configs", "left", "--set", "share.isolation.level=sometimes"],
        "configure, dry": ["configs", "left", "--set", "share.isolation.level=read_committed"],
        "configure": ["configs", "left", "--set", "share.isolation.level=read_committed", "--execute"],
        "configurations": ["configs", "left"],
        "reset, dry": ["reset-offsets", "left", "--all-topics", "--to-latest"],
        "reset": ["reset-offsets", "left", "-t", "TOPIC:0", "--to-earliest", "--execute"],
        "reset all": ["reset-offsets", "left", "--all-topics", "--to-datetime", "2020-01-01", "--execute"],
        "reset the unknown": ["reset-offsets", "nobody", "--all-topics", "--to-latest"],
        "reset the missing": ["reset-offsets", "left", "-t", "TOPIC:9", "--to-latest", "--execute"],
        "reset at work": ["reset-offsets", "busy", "--all-topics", "--to-latest", "--execute"],
        "create": ["reset-offsets", "nobody", "-t", "TOPIC", "--to-latest", "--execute"],
        "offsets": ["offsets", "left", "nobody", "-o", "wide"],
        "delete offsets, dry": ["delete-offsets", "left", "-t", "TOPIC", "-t", "nothing"],
        "delete offsets": ["delete-offsets", "left", "-t", "TOPIC", "-t", "nothing", "--execute"],
        "delete offsets at work": ["delete-offsets", "busy", "-t", "TOPIC", "--execute"],
        "no offsets": ["offsets", "left"],
        "delete, dry": ["delete", "left", "busy", "plain"],
        "delete": ["delete", "left", "busy", "nobody", "plain", "--execute"],
        "deleted": ["describe", "left"],
    }
    return {name: run(groups, *arguments) for name, arguments in commands.items()}


def comparable(told: object) -> Mapping[str, Printed]:
    """What is told, but for what is known to differ: heartbeats are quicker at the stock broker."""
    assert isinstance(told, Mapping)
    return {
        name: (exit_code, [line for line in lines if "share.heartbeat.interval.ms" not in line], errors)
        for name, (exit_code, lines, errors) in told.items()
    }


def test_the_commands_print_of_kproxy_what_they_print_of_a_stock_broker(
    share_endpoint: EndpointsOfSession,
) -> None:
    stock, through_kproxy = on_both(share_endpoint, story)

    assert isinstance(stock, Mapping)
    assert stock["offsets"][1] == [
        "GROUP TOPIC PARTITION LEADER-EPOCH START-OFFSET LAG",
        f"left topic 0 0 0 {RECORDS}",
        "left topic 1 0 0 0",
        f"nobody topic 0 0 {RECORDS} 0",
        "nobody topic 1 0 0 0",
    ]
    assert [stock[name][0] for name in ("unknown", "reset at work", "delete", "deleted")] == [3, 1, 6, 3]
    assert comparable(through_kproxy) == comparable(stock)


def test_a_cluster_without_share_groups_says_so(share_endpoint: EndpointsOfSession) -> None:
    backing = share_endpoint(KPROXY_REFERENCE).cluster.bootstrap_servers

    results = [
        CliRunner().invoke(cli, ["groups", *asked, "-b", backing]) for asked in (["list"], ["members", "g"])
    ]

    assert [result.exit_code for result in results] == [1, 1]
    assert all("share groups are off in that cluster" in result.stderr for result in results)


@pytest.mark.parametrize("behind", [for_soak(KPROXY_OLDEST), for_soak(KPROXY_THREE_BROKERS)])
def test_the_commands_print_the_same_in_front_of_an_older_broker_and_of_several(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    stock, other = story(Groups(share_endpoint(NATIVE))), story(Groups(share_endpoint(behind)))

    assert comparable(other) == comparable(stock)


def test_the_columns_are_those_of_kafkas_own_tool(share_endpoint: EndpointsOfSession) -> None:
    groups = Groups(share_endpoint(NATIVE))
    produce(groups.address, groups.topic, ["v"] * RECORDS, partition=0)
    run(groups, "reset-offsets", "left", "-t", "TOPIC:0", "--to-earliest", "--execute")
    left, busy = groups.names["left"], groups.names["busy"]
    same = {
        ("offsets", "left", "-o", "wide"): ["--describe", "--group", left, "--verbose"],
        ("members", "busy", "-o", "wide"): ["--describe", "--group", busy, "--members", "--verbose"],
        ("reset-offsets", "left", "--all-topics", "--to-latest"): (
            ["--reset-offsets", "--group", left, "--all-topics", "--to-latest", "--dry-run"]
        ),
    }
    for ours, theirs in same.items():
        tool = tools.share_group_command(groups.address, *theirs)
        printed = [line for line in words(groups, "\n".join(tool.lines)) if line]
        assert sorted(run(groups, *ours)[1]) == sorted(printed), ours
