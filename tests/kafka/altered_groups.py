"""What was altered of a group's configs, which brokers describe some time after they have answered for it."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

ANSWER_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.05


def wait_until_altered(bootstrap_servers: str, arguments: Sequence[str]) -> None:
    """Return when what `kafka-configs` altered with success is described; at once when that is nothing of a group."""
    if "--alter" in arguments and "groups" in arguments and "--entity-name" in arguments:
        added = dict(word.split("=", 1) for word in _words_behind("--add-config", arguments))
        deleted = _words_behind("--delete-config", arguments)
        wait_until_described(bootstrap_servers, _behind("--entity-name", arguments), added, deleted=deleted)


def wait_until_described(
    bootstrap_servers: str, group: str, added: Mapping[str, str], *, deleted: Collection[str] = ()
) -> None:
    """Return when a broker says of a group that it has these configs of its own, and has those no more.

    What the controller has answered for, brokers describe a moment later, and a stock one goes by it later still: see
    `tests.conformance.preparation.wait_until_applied`.
    """
    resource = ConfigResource(ResourceType.GROUP, group)
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        entries = admin.describe_configs([resource])[resource].result(ANSWER_SECONDS)
        own = {
            name: entry.value
            for name, entry in entries.items()
            if entry.source == ConfigSource.GROUP_CONFIG.value
        }
        if added.items() <= own.items() and own.keys().isdisjoint(deleted):
            return
        assert time.monotonic() < deadline, f"{added} with, {deleted} without, and {own} is described"
        time.sleep(POLL_SECONDS)


def _words_behind(option: str, arguments: Sequence[str]) -> list[str]:
    return _behind(option, arguments).split(",") if option in arguments else []


def _behind(option: str, arguments: Sequence[str]) -> str:
    return arguments[arguments.index(option) + 1]
