"""What Kafka's own tools print of share groups and their configurations, from a group's first key to its deletion."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from tests.kafka.administered_groups import Groups
from tests.kafka.altered_groups import wait_until_altered
from tests.kafka.printed_words import comparable_lines, relabelled
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.share_endpoint import ShareEndpoint
from tests.real_kafka.timestamps import next_millisecond
from tests.real_kafka.tool_session import ToolSession
from tests.real_kafka.tools import (
    CONFIG_COMMAND,
    CONSOLE_SHARE_CONSUMER,
    FEATURE_COMMAND,
    GROUPS_COMMAND,
    SHARE_GROUP_COMMAND,
)

RECORDS: Final = 10
"""In each of the two partitions of the first topic; then come `LATE_RECORDS` in the first partition."""
LATE_RECORDS: Final = 5
OTHER_RECORDS: Final = 2
"""In the second topic."""

SILENCE_SECONDS: Final = 10.0
"""Of a member whose session would be over after 45 s."""
OWN_NAMES: Final = ("configured", "done")
BETWEEN: Final = "BETWEEN"
"""In place of the moment between the records and those that came late."""
RESET_WAYS: Final = (("--to-earliest",), ("--to-latest",), ("--to-datetime", BETWEEN))
RESETS: Final = ("--dry-run", "--execute")
DESCRIPTIONS: Final[Sequence[tuple[str, ...]]] = ((), ("--offsets",), ("--members",), ("--state",))


@dataclass(frozen=True)
class Printed:
    """What a command line printed, as far as it can be compared; all of it has labels in place of names."""

    command: str
    exit_status: int
    lines: Sequence[str]


class ToolScenario:
    """Commands in the order in which they make sense; each is run when it is asked for."""

    def __init__(self, endpoint: ShareEndpoint, session: ToolSession) -> None:
        self._session = session
        self._groups = groups = Groups(endpoint)
        self._heard_at = time.monotonic()
        groups.names.update({label: unique_name(label) for label in OWN_NAMES})
        self._topic, self._other_topic = groups.topic, endpoint.new_topic()
        groups.names["second"] = self._other_topic
        for partition in (0, 1):
            administration.produce(groups.address, self._topic, map(str, range(RECORDS)), partition=partition)
        administration.produce(groups.address, self._other_topic, map(str, range(OTHER_RECORDS)))
        self._between = next_millisecond()
        administration.produce(groups.address, self._topic, ["late"] * LATE_RECORDS)

    def play(self) -> Iterator[Printed]:
        """Yield what each command prints."""
        for tool, arguments in self._commands():
            self._stay()
            yield self._run(tool, arguments)

    def _stay(self) -> None:
        """Let the member of the busy group say that it is there, now and then."""
        if time.monotonic() - self._heard_at > SILENCE_SECONDS:
            self._groups.heartbeat("busy", 0, [self._topic])
            self._heard_at = time.monotonic()

    def _run(self, tool: str, arguments: Sequence[str]) -> Printed:
        labels = {name: label for label, name in self._groups.names.items()} | {self._topic: "first"}
        result = self._session.run(tool, ["--bootstrap-server", self._groups.address, *arguments])
        if tool == CONFIG_COMMAND and result.exit_status == 0:
            wait_until_altered(self._groups.address, arguments)
        command = " ".join([tool.rpartition(".")[2], *arguments]).replace(self._between, BETWEEN)
        lines = [relabelled(line, labels) for line in (*result.lines, *result.errors.splitlines())]
        return Printed(
            relabelled(command, labels), result.exit_status, comparable_lines(lines, labels.values())
        )

    def _name(self, label: str) -> str:
        return self._groups.names[label]

    def _commands(self) -> Iterator[tuple[str, Sequence[str]]]:
        for arguments in self._of_configs():
            yield CONFIG_COMMAND, arguments
        for arguments in self._of_consumers():
            yield CONSOLE_SHARE_CONSUMER, arguments
        yield FEATURE_COMMAND, ["describe"]
        for arguments in self._of_lists():
            yield GROUPS_COMMAND, arguments
        for part in (self._of_descriptions(), self._of_resets(), self._of_refused_resets(), self._of_ends()):
            for arguments in part:
                yield SHARE_GROUP_COMMAND, arguments
        # What was configured outlives the group, as does every other group.
        yield CONFIG_COMMAND, self._describe_configs("done")
        yield GROUPS_COMMAND, ["--list"]

    # ---- kafka-configs

    def _describe_configs(self, label: str) -> list[str]:
        return ["--entity-type", "groups", "--entity-name", self._name(label), "--describe"]

    def _of_configs(self) -> Iterator[list[str]]:
        groups = ["--entity-type", "groups"]
        one = [*groups, "--entity-name", self._name("configured")]
        describe = [*one, "--describe"]
        add, delete = [*one, "--alter", "--add-config"], [*one, "--alter", "--delete-config"]
        yield describe
        yield [*add, "share.auto.offset.reset=earliest,share.record.lock.duration.ms=20000"]
        yield describe
        yield ["--group", self._name("configured"), "--describe"]
        yield [*describe, "--all"]
        yield [*groups, "--describe"]
        yield [*groups, "--describe", "--all"]
        for label in ("busy", "plain", "nobody"):
            yield self._describe_configs(label)
        for value in ("nonsense", "READ_COMMITTED", ""):
            yield [*add, f"share.isolation.level={value}"]
        for value in ("5", "abc", "99999999"):
            yield [*add, f"share.record.lock.duration.ms={value}"]
        yield [*add, "share.none.such=1"]
        yield [*add, "share.isolation.level=read_committed", "--delete-config", "share.auto.offset.reset"]
        yield [*delete, "share.session.timeout.ms"]
        yield [*delete, "share.none.such"]
        yield describe
        yield [*delete, "share.isolation.level,share.record.lock.duration.ms"]
        yield describe
        yield [*groups, "--entity-default", "--describe"]
        yield [*groups, "--entity-default", "--alter", "--add-config", "share.isolation.level=read_committed"]
        yield [*groups, "--entity-name", self._name("done"), *add[4:], "share.auto.offset.reset=earliest"]

    # ---- consumers

    def _of_consumers(self) -> Iterator[list[str]]:
        ours = ["--group", self._name("done")]
        first, second = ["--topic", self._topic, *ours], ["--topic", self._other_topic, *ours]
        shown = "print.partition=true", "print.offset=true", "print.delivery=true", "print.key=true"
        properties = [word for each in shown for word in ("--formatter-property", each)]
        count = str(2 * RECORDS + LATE_RECORDS)
        yield [*first, "--max-messages", count, "--timeout-ms", "20000", *properties]
        yield [
            *second,
            "--max-messages",
            str(OTHER_RECORDS),
            "--release",
            "--property",
            "print.delivery=true",
        ]
        delivery = [
            "--formatter-property",
            "print.delivery=true",
            "--command-property",
            "client.id=rejecting",
        ]
        yield [*second, "--max-messages", str(OTHER_RECORDS), "--reject", *delivery]
        yield [*second, "--timeout-ms", "500"]
        yield [*second, "--reject", "--release"]

    # ---- kafka-groups

    def _of_lists(self) -> Iterator[list[str]]:
        for words in ([], ["--share"], ["--consumer"], ["--streams"]):
            yield ["--list", *words]
        for kind in ("share", "classic", "consumer", "streams", "nonsense"):
            yield ["--list", "--group-type", kind]
        for protocol in ("share", "consumer", "nonsense"):
            yield ["--list", "--protocol", protocol]
        yield ["--list", "--group-type", "share", "--protocol", "share"]

    # ---- kafka-share-groups

    def _of_descriptions(self) -> Iterator[list[str]]:
        yield ["--list"]
        yield ["--list", "--state"]
        for states in ("Empty", "empty,stable", "Dead", "nonsense"):
            yield ["--list", "--state", states]
        for label, what in product(("done", "busy", "left", "plain", "nobody"), DESCRIPTIONS):
            yield ["--describe", "--group", self._name(label), *what]
            yield ["--describe", "--group", self._name(label), *what, "--verbose"]
        for what in DESCRIPTIONS:
            yield ["--describe", "--all-groups", *what]
        both = ["--group", self._name("done"), "--group", self._name("busy")]
        yield ["--describe", *both, "--state", "--timeout", "9000"]
        yield ["--describe", *both, "--members", "--state"]
        yield ["--describe"]
        yield ["--list", "--describe"]

    def _of_resets(self) -> Iterator[list[str]]:
        first, second = self._topic, ["--topic", self._other_topic]
        scopes = (
            ["--all-topics"],
            ["--topic", first],
            ["--topic", f"{first}:0"],
            ["--topic", f"{first}:0,1", *second],
        )
        for scope, way, does in product(scopes, RESET_WAYS, RESETS):
            yield self._reset("done", *scope, *way, does)
            if does == "--execute":
                yield ["--describe", "--group", self._name("done")]

    def _of_refused_resets(self) -> Iterator[list[str]]:
        everything, one = ["--all-topics"], ["--topic", self._topic]
        yield self._reset("done", *everything, "--to-earliest")
        yield self._reset("done", "--to-earliest", "--execute")
        yield self._reset("done", *everything, "--execute")
        yield self._reset("done", *everything, "--to-earliest", "--to-latest", "--execute")
        yield self._reset("done", *everything, "--to-earliest", *RESETS)
        for partitions in ("9", "x"):
            yield self._reset("done", "--topic", f"{self._topic}:{partitions}", "--to-earliest", "--execute")
        yield self._reset("done", "--topic", "none-such", "--to-earliest", "--execute")
        for moment in ("yesterday", "2099-01-01T00:00:00.000", "2001-01-01T00:00:00.000"):
            yield self._reset("done", *one, "--to-datetime", moment, "--execute")
        for label in ("busy", "plain", "nobody"):
            for does in RESETS:
                yield self._reset(label, *everything, "--to-earliest", does)
        # It makes the group.
        yield self._reset("configured", *one, "--to-earliest", "--execute")
        yield ["--describe", "--group", self._name("configured")]

    def _reset(self, label: str, *arguments: str) -> list[str]:
        arguments = tuple(self._between if word == BETWEEN else word for word in arguments)
        return ["--reset-offsets", "--group", self._name(label), *arguments]

    def _of_ends(self) -> Iterator[list[str]]:
        done, first, second = self._name("done"), ["--topic", self._topic], ["--topic", self._other_topic]
        for topics in (first, first, [*second, "--topic", "none-such"]):
            yield ["--delete-offsets", "--group", done, *topics]
            yield ["--describe", "--group", done]
        for label in ("busy", "plain", "nobody"):
            yield ["--delete-offsets", "--group", self._name(label), *first]
            yield ["--delete", "--group", self._name(label)]
        yield ["--delete-offsets", "--group", done]
        yield ["--delete"]
        yield ["--delete", "--group", self._name("left"), "--group", done, "--group", self._name("busy")]
        yield ["--list"]
