"""Java's own producer, consumer and transactions, as the console, perf and verifiable tools of 4.3.1 use them."""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from tests.compatibility.backings import rack_of
from tests.compatibility.clients.probe import expect, expect_equal
from tests.compatibility.java_ground import JavaGround, text_of
from tests.compatibility.scenarios import COMPRESSIONS, Scenario
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.tools import CONSOLE_CONSUMER, CONSOLE_PRODUCER, JsonEvent, ToolResult

VERIFIABLE_PRODUCER: Final = "org.apache.kafka.tools.VerifiableProducer"
VERIFIABLE_CONSUMER: Final = "org.apache.kafka.tools.VerifiableConsumer"
PRODUCER_PERFORMANCE: Final = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE: Final = "org.apache.kafka.tools.ConsumerPerformance"

FOLLOWED_VALUE: Final = "f" * 20_000
FOLLOWED_COUNT: Final = 100

JavaCheck: TypeAlias = Callable[[JavaGround], None]
"""Plays a scenario; raises whatever goes wrong."""


def _compression(ground: JavaGround, *, codec: str) -> None:
    topic = ground.new_topic()
    sent = [f"{codec} {number:04d} " * 8 for number in range(40)]
    settings = ["--command-property", f"compression.type={codec}", "--command-property", "linger.ms=20"]
    ground.run(CONSOLE_PRODUCER, "--topic", topic, *settings, input_lines=sent)
    expect_equal(_console_consume(ground, topic, len(sent)), sent, "values")


def _group(ground: JavaGround, *, protocol: str) -> None:
    """A member consumes and commits; one that comes after it goes on there."""
    topic, group = ground.new_topic(["a", "b", "c", "d"], partitions=2), unique_name("group")
    administration.produce(ground.direct_servers, topic, ["e", "f"], partition=1)
    first = _verifiably_consume(ground, topic, group, protocol, max_messages=6)
    expect_equal(sorted(_values(first)), ["a", "b", "c", "d", "e", "f"], "values of the first member")
    commits = [event for event in first if event["name"] == "offsets_committed"]
    expect(commits and all(event["success"] for event in commits), f"commits: {commits}")
    administration.produce(ground.direct_servers, topic, ["later", "latest"])
    second = _verifiably_consume(ground, topic, group, protocol, max_messages=2)
    expect_equal(_values(second), ["later", "latest"], "values of the second member")


def _idempotence(ground: JavaGround) -> None:
    topic = ground.new_topic()
    arguments = ["--topic", topic, "--max-messages", "50", "--acks", "-1"]
    events = _events(ground.run(VERIFIABLE_PRODUCER, *arguments))
    offsets = [event["offset"] for event in events if event["name"] == "producer_send_success"]
    expect_equal(offsets, list(range(50)), "offsets")
    values = administration.consume(ground.direct_servers, topic, 50)
    expect_equal(values, [str(number) for number in range(50)], "values")


def _transactions(ground: JavaGround) -> None:
    """Transactions that Java commits, behind one that was aborted, which read_committed passes over."""
    topic = ground.new_topic()
    ground.abort_transaction(topic, ["dropped"] * 5)
    arguments = ["--topic", topic, "--num-records", "50", "--throughput", "200", "--payload-monotonic"]
    transactional = ["--transactional-id", unique_name("committed"), "--transaction-duration-ms", "100"]
    ground.run(PRODUCER_PERFORMANCE, *arguments, *transactional)
    numbers = [str(number) for number in range(50)]
    committed = _console_consume(ground, topic, 50, "--isolation-level", "read_committed")
    expect_equal(committed, numbers, "values that are committed")
    everything = _console_consume(ground, topic, 55, "--isolation-level", "read_uncommitted")
    expect_equal(everything, ["dropped"] * 5 + numbers, "all values")


def _follower_fetching(ground: JavaGround) -> None:
    """Most bytes come from the follower in the consumer's rack, as the client's own metrics say."""
    topic = ground.new_topic([FOLLOWED_VALUE] * FOLLOWED_COUNT)
    leader = administration.leader_of(ground.direct_servers, topic, 0)
    follower = min(ground.node_ids - {leader})
    result = ground.run(
        CONSUMER_PERFORMANCE,
        *("--include", topic, "--num-records", str(FOLLOWED_COUNT), "--print-metrics"),
        *("--command-property", f"client.rack={rack_of(follower)}"),
        # Small fetches, so that what the leader says at first is a small part.
        *("--fetch-size", "100000", "--command-property", "fetch.max.bytes=100000"),
    )
    received = _received_bytes(result)
    most = len(FOLLOWED_VALUE) * FOLLOWED_COUNT / 2
    expect(received.get(follower, 0) > most, f"bytes by node: {received}, leader is {leader}")


def _console_consume(ground: JavaGround, topic: str, count: int, *arguments: str) -> list[str]:
    result = ground.run(
        CONSOLE_CONSUMER,
        *("--topic", topic, "--from-beginning", "--max-messages", str(count), "--timeout-ms", "30000"),
        *arguments,
    )
    return list(result.lines)


def _verifiably_consume(
    ground: JavaGround, topic: str, group: str, protocol: str, *, max_messages: int
) -> Sequence[JsonEvent]:
    return _events(
        ground.run(
            VERIFIABLE_CONSUMER,
            *("--topic", topic, "--group-id", group, "--group-protocol", protocol, "--verbose"),
            *("--max-messages", str(max_messages)),
        )
    )


def _events(result: ToolResult) -> list[JsonEvent]:
    return [json.loads(line) for line in result.lines if line.startswith("{")]


def _values(events: Sequence[JsonEvent]) -> list[str]:
    return [str(event["value"]) for event in events if event["name"] == "record_data"]


def _received_bytes(result: ToolResult) -> Mapping[int, float]:
    """`incoming-byte-total` of each broker among the metrics that a consumer printed."""
    found = re.findall(
        r"incoming-byte-total:\{[^}]*node-id=node-(\d+)[^}]*\}\s*:\s*([\d.]+)", text_of(result)
    )
    return {int(node_id): float(value) for node_id, value in found}


JAVA_CLIENT_CHECKS: Final[Mapping[Scenario, JavaCheck]] = {
    **{codec: functools.partial(_compression, codec=codec.value) for codec in COMPRESSIONS},
    Scenario.CLASSIC_GROUP: functools.partial(_group, protocol="classic"),
    Scenario.CONSUMER_GROUP: functools.partial(_group, protocol="consumer"),
    Scenario.IDEMPOTENCE: _idempotence,
    Scenario.TRANSACTIONS: _transactions,
    Scenario.FOLLOWER_FETCHING: _follower_fetching,
}
