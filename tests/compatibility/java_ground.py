"""Where scenarios of Java's clients and tools play: programs on the clients' host, their topics made at the brokers."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.compatibility.backings import Backing
from tests.compatibility.clients.probe import ANSWER_TIMEOUT_SECONDS, expect, expect_equal
from tests.compatibility.clients.propagation import wait_until_known_everywhere
from tests.compatibility.namespaces import BROKERS_ADDRESS
from tests.real_kafka import administration, tools
from tests.real_kafka.administration import unique_name
from tests.real_kafka.tools import ToolResult

TOOL_TIMEOUT_SECONDS: Final = 90.0

_file_numbers: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class JavaGround:
    """What a scenario needs: kproxy's address for the program under test, the brokers' own for everything else."""

    backing: Backing
    bootstrap_servers: str
    """What the programs under test are told."""
    direct_servers: str
    """The brokers, for what prepares a scenario and judges it."""
    within: tuple[str | Path, ...]
    """The beginning of a command that runs on the clients' host."""
    scratch: Path
    """A folder for the files that tools read."""
    may_name_brokers: bool
    """Whether the bootstrap servers are the brokers themselves."""

    @property
    def node_ids(self) -> set[int]:
        return set(range(1, self.backing.broker_count + 1))

    def new_topic(self, values: Iterable[str] = (), *, partitions: int = 1) -> str:
        """A topic on all brokers, with these values in its partition 0."""
        topic = administration.create_topic(
            self.direct_servers,
            unique_name("java"),
            partitions=partitions,
            replicas=self.backing.broker_count,
        )
        wait_until_known_everywhere(self.direct_servers, topic, partitions)
        administration.produce(self.direct_servers, topic, values)
        return topic

    def commit(self, group: str, topic: str, offset: int) -> None:
        """Let a group that has no members have committed an offset of partition 0."""
        consumer = Consumer({"bootstrap.servers": self.direct_servers, "group.id": group})
        try:
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        finally:
            consumer.close()

    def abort_transaction(self, topic: str, values: Sequence[str]) -> str:
        """Write records to partition 0 that are then aborted; the transactional id."""
        transactional_id = unique_name("aborted")
        producer = Producer({"bootstrap.servers": self.direct_servers, "transactional.id": transactional_id})
        producer.init_transactions(ANSWER_TIMEOUT_SECONDS)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value=value.encode(), partition=0)
        expect_equal(producer.flush(ANSWER_TIMEOUT_SECONDS), 0, "records left unanswered")
        producer.abort_transaction(ANSWER_TIMEOUT_SECONDS)
        return transactional_id

    def file(self, text: str) -> str:
        """The path of a new file with this text."""
        path = self.scratch / f"file-{next(_file_numbers)}.json"
        path.write_text(text)
        return str(path)

    def run(self, main_class: str, *arguments: str, input_lines: Iterable[str] = ()) -> ToolResult:
        """Run a tool to its end with `--bootstrap-server` in front of `arguments`.

        Raises `ToolFailed` if it fails, `Unexpected` if it says a broker's own address.
        """
        bootstrap = ["--bootstrap-server", self.bootstrap_servers]
        return self.run_bare(main_class, *bootstrap, *arguments, input_lines=input_lines)

    def run_bare(
        self,
        main_class: str,
        *arguments: str,
        input_lines: Iterable[str] = (),
        may_name_brokers: bool = False,
    ) -> ToolResult:
        """As `run`, with nothing in front of `arguments`; `may_name_brokers` allows it to say their addresses."""
        result = tools.run_tool(
            main_class,
            arguments,
            input_lines=input_lines,
            timeout_seconds=TOOL_TIMEOUT_SECONDS,
            within=self.within,
        )
        text = "\n".join([*result.lines, result.errors])
        if not (may_name_brokers or self.may_name_brokers):
            expect(BROKERS_ADDRESS not in text, f"a broker's own address in: {text}")
        return result


def text_of(result: ToolResult) -> str:
    """All that a tool wrote to its standard output."""
    return "\n".join(result.lines)


def expect_text(result: ToolResult, pattern: str) -> None:
    """Raise `Unexpected` unless a tool wrote something that the regular expression matches."""
    expect(re.search(pattern, text_of(result), re.MULTILINE), f"{pattern!r} in: {text_of(result)}")
