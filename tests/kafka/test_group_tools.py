"""Admin clients and Kafka's own tools, by their classes: what they are told of share groups through kproxy."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.kafka.administered_groups import Groups, on_both
from tests.real_kafka import tools
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_WITHOUT_SHARE_GROUPS,
    NATIVE,
    EndpointsOfSession,
)

ADMIN_SECONDS: Final = 30.0


@dataclass(frozen=True)
class ConfluentAdmin:
    """What confluent-kafka's admin client is told."""

    groups: Groups

    @cached_property
    def client(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.groups.address})

    def listed(self) -> list[str]:
        result = self.client.list_consumer_groups(request_timeout=ADMIN_SECONDS).result()
        ours = {name: label for label, name in self.groups.names.items()}
        return sorted(
            f"{ours[group.group_id]} {group.type} {group.state}"
            for group in result.valid
            if group.group_id in ours
        )

    def described(self, label: str) -> str:
        future = self.client.describe_consumer_groups(
            [self.groups.names[label]], request_timeout=ADMIN_SECONDS
        )[self.groups.names[label]]
        return self._told(lambda: f"{future.result().state} {len(future.result().members)}")

    def deleted(self, label: str) -> str:
        name = self.groups.names[label]
        future = self.client.delete_consumer_groups([name], request_timeout=ADMIN_SECONDS)[name]
        return self._told(lambda: str(future.result()))

    def _told(self, ask: Callable[[], str]) -> str:
        try:
            return ask()
        except KafkaException as failure:
            return f"error {failure.args[0].code()}"


def test_confluents_admin_client_is_told_what_a_stock_broker_tells(
    share_endpoint: EndpointsOfSession,
) -> None:
    def scenario(groups: Groups) -> object:
        admin = ConfluentAdmin(groups)
        told: list[object] = [admin.listed()]
        told += [admin.described(label) for label in groups.names]
        told += [admin.deleted(label) for label in ("busy", "left", "plain", "nobody", "left")]
        return [*told, admin.listed()]

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert through_kproxy == stock


def printed(groups: Groups) -> Mapping[str, list[str]]:
    """What Kafka's own tools print of these groups, and of their end."""
    busy, left, nobody = (groups.names[label] for label in ("busy", "left", "nobody"))
    commands = {
        "list": ["--list"],
        "list states": ["--list", "--state"],
        "list empty": ["--list", "--state", "empty"],
        "state": ["--describe", "--group", busy, "--state"],
        "members": ["--describe", "--group", busy, "--members"],
        "state of the empty": ["--describe", "--group", left, "--state"],
        "members of the empty": ["--describe", "--group", left, "--members"],
        "delete": ["--delete", "--group", left],
        "delete one with members": ["--delete", "--group", busy],
        "delete nobody": ["--delete", "--group", nobody],
        "list what is left": ["--list"],
    }
    lines = {
        name: _lines(groups, tools.SHARE_GROUP_COMMAND, arguments) for name, arguments in commands.items()
    }
    return {**lines, "groups": _lines(groups, tools.GROUPS_COMMAND, ["--list"])}


def _lines(groups: Groups, main_class: str, arguments: Sequence[str]) -> list[str]:
    """What a tool prints of our groups, whether it succeeds or not: in words, whatever the width of its columns."""
    with tools.JavaTool(main_class, ["--bootstrap-server", groups.address, *arguments]) as tool:
        tool.end_input()
        result = tool.finish()
    ours = [*groups.names.values(), "GROUP"]
    written = [*result.lines, *result.errors.splitlines()]
    said = [line for line in written if any(name in line for name in ours)]
    return sorted(_words(groups.relabelled(line)) for line in said)


def _words(line: str) -> str:
    return " ".join(re.sub(r"127\.0\.0\.1:\d+ *\(\d+\)", "COORDINATOR", line).split())


def test_kafkas_own_tools_print_what_they_print_of_a_stock_broker(share_endpoint: EndpointsOfSession) -> None:
    stock, through_kproxy = on_both(share_endpoint, printed)

    assert isinstance(stock, dict)
    assert stock["list"] == ["busy", "left"]
    assert through_kproxy == stock


@pytest.mark.parametrize("behind", [for_soak(KPROXY_WITHOUT_SHARE_GROUPS), for_soak(KPROXY_OLDEST)])
def test_kafkas_own_tools_print_the_same_in_front_of_older_brokers(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    stock, older = printed(Groups(share_endpoint(NATIVE))), printed(Groups(share_endpoint(behind)))

    assert older == stock
