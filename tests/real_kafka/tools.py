"""Kafka's own command line tools, those of the reference version, against any bootstrap address."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from tests.real_kafka.administration import unique_name
from tests.real_kafka.child import Child
from tests.real_kafka.java_command import QUICK_START_OPTIONS, java_command, tool_class_data
from tests.real_kafka.versions import REFERENCE

TOPIC_COMMAND: Final = "org.apache.kafka.tools.TopicCommand"
CONFIG_COMMAND: Final = "kafka.admin.ConfigCommand"
CONSOLE_PRODUCER: Final = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSOLE_SHARE_CONSUMER: Final = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
END_TO_END_LATENCY: Final = "org.apache.kafka.tools.EndToEndLatency"
VERIFIABLE_SHARE_CONSUMER: Final = "org.apache.kafka.tools.VerifiableShareConsumer"
SHARE_GROUP_COMMAND: Final = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
GROUPS_COMMAND: Final = "org.apache.kafka.tools.GroupsCommand"
FEATURE_COMMAND: Final = "org.apache.kafka.tools.FeatureCommand"
SHARE_CONSUMER_PERFORMANCE: Final = "org.apache.kafka.tools.ShareConsumerPerformance"

HEAP_OPTION: Final = "-Xmx256m"
RUN_TIMEOUT_SECONDS: Final = 150.0

JsonEvent: TypeAlias = Mapping[str, object]


class ToolFailed(RuntimeError):
    """A tool ended with another exit status than 0; the message has all it wrote."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool that ended has written."""

    exit_status: int
    lines: tuple[str, ...]
    errors: str


class JavaTool(Child):
    """One of Kafka's tools, running; or any main class that the reference version's jars hold."""

    def __init__(
        self,
        main_class: str,
        arguments: Sequence[str],
        *,
        within: Sequence[str | Path] = (),
        class_data_options: Sequence[str] | None = None,
    ) -> None:
        """Start it; `within` begins a command that runs another one elsewhere, as in a network namespace.

        Without `class_data_options` it maps the class data that `record_class_data` has left, if it has.
        """
        if class_data_options is None:
            class_data_options = tool_class_data().options(records=False)
        options = [HEAP_OPTION, *QUICK_START_OPTIONS, *class_data_options]
        command = java_command(REFERENCE, main_class, arguments, options=options, log_role="tool")
        super().__init__(main_class.rpartition(".")[2], [*within, *command])

    def finish(self, *, timeout_seconds: float = RUN_TIMEOUT_SECONDS) -> ToolResult:
        """Wait until it ends by itself; raises `ChildTimedOut` when it does not."""
        deadline = time.monotonic() + timeout_seconds
        lines = self.remaining_lines(timeout_seconds=timeout_seconds)
        exit_status = self.wait(timeout_seconds=max(1.0, deadline - time.monotonic()))
        return ToolResult(exit_status, tuple(lines), self.errors())


class VerifiableShareConsumer(JavaTool):
    """Kafka's share consumer that tells what it does in JSON events, one a line, until it is stopped."""

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        topic: str,
        group: str,
        acknowledgement_mode: str = "sync",
        offset_reset_strategy: str = "earliest",
        max_messages: int | None = None,
    ) -> None:
        """Start consuming; `acknowledgement_mode` is `auto`, `sync` or `async`.

        With `max_messages` it ends by itself. An `offset_reset_strategy` makes it set the group's config
        first.
        """
        arguments = [
            "--bootstrap-server",
            bootstrap_servers,
            "--topic",
            topic,
            "--group-id",
            group,
            "--verbose",
        ]
        arguments += ["--acknowledgement-mode", acknowledgement_mode]
        arguments += ["--offset-reset-strategy", offset_reset_strategy] if offset_reset_strategy else []
        arguments += ["--max-messages", str(max_messages)] if max_messages is not None else []
        super().__init__(VERIFIABLE_SHARE_CONSUMER, arguments)
        self.seen_events: list[JsonEvent] = []
        """Every event so far, in order."""

    def next_event(self, *, timeout_seconds: float) -> JsonEvent:
        """The next event; its `name` is `records_consumed`, `offsets_acknowledged` or another."""
        event: JsonEvent = json.loads(self.next_line(timeout_seconds=timeout_seconds))
        self.seen_events.append(event)
        return event

    def events_until(
        self,
        is_enough: Callable[[Sequence[JsonEvent]], bool],
        *,
        timeout_seconds: float = RUN_TIMEOUT_SECONDS,
    ) -> Sequence[JsonEvent]:
        """Read events until those seen are enough; all of them. May raise `ChildTimedOut` or `ChildEnded`."""
        deadline = time.monotonic() + timeout_seconds
        while not is_enough(self.seen_events):
            self.next_event(timeout_seconds=deadline - time.monotonic())
        return self.seen_events


def record_class_data(bootstrap_servers: str) -> None:
    """Record what tools have in common, unless that is done: each starts in half the time from then on.

    Kafka's latency test is recorded, which uses all three clients: admin, producer and consumer.
    """
    class_data = tool_class_data()
    if class_data.is_recorded:
        return
    arguments = ["--bootstrap-server", bootstrap_servers, "--topic", unique_name("recording")]
    arguments += ["--num-records", "10", "--producer-acks", "all", "--record-size", "100"]
    with JavaTool(
        END_TO_END_LATENCY, arguments, class_data_options=class_data.options(records=True)
    ) as recorder:
        status = recorder.finish().exit_status
    if status == 0:
        class_data.keep()
    else:
        class_data.discard()


def topic_command(bootstrap_servers: str, *arguments: str) -> ToolResult:
    """Run `kafka-topics.sh` to its end; raises `ToolFailed`."""
    return run_tool(TOPIC_COMMAND, ["--bootstrap-server", bootstrap_servers, *arguments])


def config_command(bootstrap_servers: str, *arguments: str) -> ToolResult:
    """Run `kafka-configs.sh` to its end; raises `ToolFailed`."""
    return run_tool(CONFIG_COMMAND, ["--bootstrap-server", bootstrap_servers, *arguments])


def share_group_command(bootstrap_servers: str, *arguments: str) -> ToolResult:
    """Run `kafka-share-groups.sh` to its end; raises `ToolFailed`."""
    return run_tool(SHARE_GROUP_COMMAND, ["--bootstrap-server", bootstrap_servers, *arguments])


def console_producer(
    bootstrap_servers: str,
    topic: str,
    values: Iterable[str],
    *,
    producer_settings: Mapping[str, str] | None = None,
) -> ToolResult:
    """Produce each value, a line without its break, with `kafka-console-producer.sh`; raises `ToolFailed`."""
    arguments = ["--bootstrap-server", bootstrap_servers, "--topic", topic]
    for key, value in (producer_settings or {}).items():
        arguments += ["--command-property", f"{key}={value}"]
    return run_tool(CONSOLE_PRODUCER, arguments, input_lines=values)


def console_consumer(
    bootstrap_servers: str, topic: str, *, max_messages: int, arguments: Sequence[str] = ("--from-beginning",)
) -> JavaTool:
    """Start `kafka-console-consumer.sh`, which writes values, a line each, and ends after `max_messages`."""
    return JavaTool(
        CONSOLE_CONSUMER,
        [
            "--bootstrap-server",
            bootstrap_servers,
            "--topic",
            topic,
            "--max-messages",
            str(max_messages),
            *arguments,
        ],
    )


def console_share_consumer(
    bootstrap_servers: str, topic: str, *, group: str, max_messages: int, arguments: Sequence[str] = ()
) -> JavaTool:
    """Start `kafka-console-share-consumer.sh`: writes values, a line each, ends after `max_messages`.

    `arguments` may be `--release` or `--reject`; else every record is accepted.
    """
    return JavaTool(
        CONSOLE_SHARE_CONSUMER,
        [
            *("--bootstrap-server", bootstrap_servers, "--topic", topic, "--group", group),
            *("--max-messages", str(max_messages), *arguments),
        ],
    )


def run_tool(
    main_class: str,
    arguments: Sequence[str],
    *,
    input_lines: Iterable[str] = (),
    timeout_seconds: float = RUN_TIMEOUT_SECONDS,
    within: Sequence[str | Path] = (),
) -> ToolResult:
    """Run a tool to its end, `within` as `JavaTool` has it; raises `ToolFailed` unless that is a success."""
    with JavaTool(main_class, arguments, within=within) as tool:
        for line in input_lines:
            tool.send_line(line)
        tool.end_input()
        result = tool.finish(timeout_seconds=timeout_seconds)
    if result.exit_status != 0:
        written = "\n".join([*result.lines, result.errors])
        raise ToolFailed(f"{tool.name} ended with exit status {result.exit_status}: {written}")
    return result
