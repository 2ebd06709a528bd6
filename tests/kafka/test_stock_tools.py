"""Kafka's own tools through kproxy: each prints what it prints of a stock broker with share groups."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import pytest

from tests.kafka.altered_groups import wait_until_altered
from tests.kafka.printed_by_tools import Printed, ToolScenario
from tests.real_kafka import accounts, tools
from tests.real_kafka.administration import unique_name
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.tool_session import ToolSession

RECORDS: Final = 20

_ERROR: Final = "org.apache.kafka.common.errors."
_OF_THE_CLUSTER: Final = {
    KPROXY_WITHOUT_SHARE_GROUPS: re.compile(r"(consumer|streams)\.|Feature: (?!share\.version)"),
    KPROXY_OLDEST: re.compile(r"(consumer|streams)\.|Feature:"),
}
"""Keys of groups of other types, and other features: what the backing cluster has of them is its own. Before Kafka 3.9
ApiVersions has no version that may tell clients of a feature which begins at 0."""


@pytest.fixture(scope="module")
def session() -> Iterator[ToolSession]:
    with ToolSession() as session:
        yield session


@pytest.fixture(scope="module")
def stock(share_endpoint: EndpointsOfSession, session: ToolSession) -> Sequence[Printed]:
    return list(ToolScenario(share_endpoint(NATIVE), session).play())


def differences(stock: Sequence[Printed], own: Sequence[Printed]) -> list[str]:
    """Each command that printed something else, or ended otherwise, with the lines that one of both did not print."""
    told: list[str] = []
    for theirs, ours in zip(stock, own, strict=True):
        assert theirs.command == ours.command
        missing = [f"- {line}" for line in theirs.lines if not any(_says(line, each) for each in ours.lines)]
        added = [f"+ {line}" for line in ours.lines if not any(_says(each, line) for each in theirs.lines)]
        if missing or added or theirs.exit_status != ours.exit_status:
            told.append(f"{ours.command}: {theirs.exit_status}, {ours.exit_status}")
            told += [*missing, *added]
    return told


def _says(theirs: str, ours: str) -> bool:
    """Whether both are the same; behind the words of a broker's error kproxy may say more."""
    return ours == theirs or (_ERROR in theirs and ours.startswith(theirs))


def about_share_groups(printed: Sequence[Printed], behind: str) -> list[Printed]:
    """What was printed without what an older cluster has less of."""
    return [
        replace(each, lines=[line for line in each.lines if not _OF_THE_CLUSTER[behind].match(line)])
        for each in printed
    ]


def test_tools_for_share_groups_print_what_they_print_of_a_stock_broker(
    share_endpoint: EndpointsOfSession, session: ToolSession, stock: Sequence[Printed]
) -> None:
    through_kproxy = list(ToolScenario(share_endpoint(KPROXY_REFERENCE), session).play())

    told = differences(stock, through_kproxy)
    assert not told, "\n".join(told)
    assert len(stock) > 160


@pytest.mark.parametrize("behind", [KPROXY_WITHOUT_SHARE_GROUPS, for_soak(KPROXY_OLDEST)])
def test_tools_for_share_groups_print_the_same_in_front_of_older_brokers(
    share_endpoint: EndpointsOfSession, session: ToolSession, stock: Sequence[Printed], behind: str
) -> None:
    through_kproxy = list(ToolScenario(share_endpoint(behind), session).play())

    told = differences(*(about_share_groups(printed, behind) for printed in (stock, through_kproxy)))
    assert not told, "\n".join(told)


def test_a_group_with_keys_of_share_groups_and_of_others_is_told_as_by_a_stock_broker(
    share_endpoint: EndpointsOfSession, session: ToolSession
) -> None:
    # When
    stock, through_kproxy = [
        printed_of_mixed_keys(share_endpoint(behind), session) for behind in (NATIVE, KPROXY_REFERENCE)
    ]

    # Then
    assert through_kproxy == stock
    assert "consumer.session.timeout.ms=50000" in "".join(stock)


def printed_of_mixed_keys(endpoint: ShareEndpoint, session: ToolSession) -> list[str]:
    """What is printed of a group whose keys are partly the backing cluster's, as they are set and deleted."""
    group, own, others = unique_name("group"), "share.delivery.count.limit", "consumer.session.timeout.ms"
    of_group = [
        "--bootstrap-server",
        endpoint.bootstrap_servers,
        "--entity-type",
        "groups",
        "--entity-name",
        group,
    ]
    changes = (
        ["--add-config", f"{others}=50000,{own}=7"],
        ["--delete-config", own],
        ["--delete-config", others],
        ["--add-config", "none.such=1"],
    )
    lines: list[str] = []
    for change in changes:
        for arguments in (["--alter", *change], ["--describe"]):
            result = session.run(tools.CONFIG_COMMAND, [*of_group, *arguments])
            if result.exit_status == 0:
                wait_until_altered(endpoint.bootstrap_servers, [*of_group, *arguments])
            lines += [line.replace(group, "group") for line in result.lines]
    return lines


@pytest.mark.soak
@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, KPROXY_WITHOUT_SHARE_GROUPS])
def test_tools_that_consume_print_what_they_print_of_a_stock_broker(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # When
    stock, through_kproxy = [printed_by_consumers(share_endpoint(each)) for each in (NATIVE, behind)]

    # Then
    assert through_kproxy == stock
    assert stock["performance"][-2] == f"TIME, 0.0004, {RECORDS}"


def printed_by_consumers(endpoint: ShareEndpoint) -> dict[str, list[str]]:
    """What the tools print that need a process of their own: each a group from the earliest record on."""
    topic, bootstrap = endpoint.new_topic(), endpoint.bootstrap_servers
    accounts.produce_to_every_partition(bootstrap, topic, each=RECORDS)
    of_topic = ["--bootstrap-server", bootstrap, "--topic", topic]
    printed = {}
    for mode in ("auto", "sync", "async"):
        words = ["--acknowledgement-mode", mode, "--offset-reset-strategy", "earliest", "--verbose"]
        words += ["--group-id", unique_name("group"), "--max-messages", str(RECORDS)]
        printed[mode] = _written(tools.VERIFIABLE_SHARE_CONSUMER, [*of_topic, *words], topic)
    counted = ["--group", endpoint.new_group(), "--num-records", str(RECORDS), "--timeout", "20000"]
    printed["performance"] = _written(tools.SHARE_CONSUMER_PERFORMANCE, [*of_topic, *counted], topic)
    nothing = ["--group", unique_name("group"), "--num-records", str(RECORDS), "--timeout", "1000"]
    nothing.append("--show-consumer-stats")
    printed["nothing"] = _written(tools.SHARE_CONSUMER_PERFORMANCE, [*of_topic, *nothing], topic)
    return printed


def _written(main_class: str, arguments: Sequence[str], topic: str) -> list[str]:
    with tools.JavaTool(main_class, arguments) as tool:
        tool.end_input()
        result = tool.finish()
    lines = [_without_times(line.replace(topic, "topic")) for line in result.lines]
    return [*lines, f"exit status {result.exit_status}"]


def _without_times(line: str) -> str:
    """An event without its time, its offsets in order; of a measurement how much was consumed, without rates."""
    if line.startswith("{"):
        in_order = re.sub(r"\[[\d,]+\]", lambda found: str(sorted(json.loads(found[0]))), line)
        return re.sub(r'"timestamp":\d+,', "", in_order)
    if not re.search(r"\d:\d\d\d, ", line):
        return line
    start, _, megabytes, _, _, records, _ = line.split(", ")
    return ", ".join([re.sub(r"[\d-]+ [\d:]+$", "TIME", start), megabytes, records])
