"""Reading a topic of the state log with kafka-python, from its first to its last offset at the time of asking.

kafka-python reads its schemas, while it is imported, in a way that Python 3.11 warns about; and it takes a while:
this module is imported by the commands that need it.
"""

import logging
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import AuthorizationError, KafkaError, KafkaTimeoutError

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.settings import HostPort
from kproxy.wire.records import Record

_CONNECT_TIMEOUT_S: Final = 5.0
_BOOTSTRAP_TIMEOUT_MS: Final = 10_000
_REQUEST_TIMEOUT_MS: Final = 15_000
_POLL_MS: Final = 500
_MAX_POLL_RECORDS: Final = 2_000
_SILENCE_S: Final = 30.0
"""How long a read may make no progress before it is given up."""


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets of a partition to read, from `first_offset` to, not including, `end_offset`."""

    partition: int
    first_offset: int
    end_offset: int

    @property
    def length(self) -> int:
        """How many offsets there are; records may be fewer."""
        return max(0, self.end_offset - self.first_offset)

    def within(self, *, from_offset: int | None, last_offset: int | None) -> "Span":
        """Return the part from `from_offset` to `last_offset`, both inclusive; None is no bound."""
        first_offset = max(self.first_offset, from_offset or 0)
        end_offset = self.end_offset if last_offset is None else min(self.end_offset, last_offset + 1)
        return Span(self.partition, first_offset, max(first_offset, end_offset))


class LogSource(Protocol):
    """A topic that can be read."""

    def spans(self) -> Sequence[Span]:
        """Return what every partition holds now, ascending. Raises CommandFailed."""
        ...

    def records(self, span: Span) -> Iterator[Record]:
        """Yield the records of a span in order. Raises CommandFailed."""
        ...

    def close(self) -> None:
        """Let go of the connections."""
        ...


class KafkaLogSource:
    """The `LogSource` on a `KafkaConsumer`."""

    def __init__(self, consumer: Any, topic: str, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._topic = topic
        self._now_s = now_s

    def spans(self) -> Sequence[Span]:
        """Return what every partition holds now. Raises CommandFailed: NOT_FOUND when there is no such topic."""
        try:
            numbers = sorted(self._consumer.partitions_for_topic(self._topic))
            if not numbers:
                raise CommandFailed(
                    f"the backing cluster has no topic {self._topic}, or this client may not see it; "
                    "another name is given with -X kproxy.state.topic.name=… or -X kproxy.groups.topic.name=…",
                    ExitCode.NOT_FOUND,
                )
            partitions = [TopicPartition(self._topic, number) for number in numbers]
            first_offsets = self._consumer.beginning_offsets(partitions)
            end_offsets = self._consumer.end_offsets(partitions)
        except (KafkaError, OSError) as failure:
            raise _unreadable(self._topic, failure) from failure
        return [
            Span(partition.partition, first_offsets[partition], end_offsets[partition])
            for partition in partitions
        ]

    def records(self, span: Span) -> Iterator[Record]:
        """Yield the records of a span. Raises CommandFailed when the cluster stops answering."""
        partition = TopicPartition(self._topic, span.partition)
        next_offset, moved_s = span.first_offset, self._now_s()
        self._consumer.assign([partition])
        self._consumer.seek(partition, next_offset)
        while next_offset < span.end_offset:
            found, position = self._poll(partition)
            for record in found:
                if record.offset >= span.end_offset:
                    return
                yield _record(record)
            if position > next_offset:
                next_offset, moved_s = position, self._now_s()
            elif self._now_s() - moved_s > _SILENCE_S:
                raise CommandFailed(
                    f"{self._topic} partition {span.partition} gives nothing at offset {next_offset}",
                    ExitCode.FAILED,
                )

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _poll(self, partition: Any) -> tuple[Sequence[Any], int]:
        """Return the records that are there, and the offset after them."""
        try:
            found = self._consumer.poll(timeout_ms=_POLL_MS).get(partition, [])
            return found, self._consumer.position(partition, timeout_ms=_REQUEST_TIMEOUT_MS) or 0
        except (KafkaError, OSError, ValueError) as failure:
            raise _unreadable(self._topic, failure) from failure


def open_log(bootstrap_servers: Sequence[HostPort], topic: str) -> LogSource:
    """Connect to the backing cluster. Raises CommandFailed: CANNOT_CONNECT when it cannot be reached."""
    # What goes wrong is said once, as the command's own error.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    _require_somebody(bootstrap_servers)
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=[str(server) for server in bootstrap_servers],
            client_id="kproxy-log",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            allow_auto_create_topics=False,
            max_poll_records=_MAX_POLL_RECORDS,
            bootstrap_timeout_ms=_BOOTSTRAP_TIMEOUT_MS,
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
            metrics_enabled=False,
        )
    except (KafkaError, OSError) as failure:
        raise _unreachable(bootstrap_servers, _said(failure)) from failure
    return KafkaLogSource(consumer, topic)


def _require_somebody(bootstrap_servers: Sequence[HostPort]) -> None:
    """Raise CommandFailed when nobody accepts a connection: kafka-python would go on trying, and not say why."""
    reasons = []
    for server in bootstrap_servers:
        try:
            socket.create_connection((server.host, server.port), timeout=_CONNECT_TIMEOUT_S).close()
        except OSError as failure:
            reasons.append(_said(failure))
        else:
            return
    raise _unreachable(bootstrap_servers, "; ".join(dict.fromkeys(reasons)))


def _unreachable(bootstrap_servers: Sequence[HostPort], reason: str) -> CommandFailed:
    servers = ",".join(map(str, bootstrap_servers))
    return CommandFailed(f"cannot reach the backing cluster at {servers}: {reason}", ExitCode.CANNOT_CONNECT)


def _unreadable(topic: str, failure: Exception) -> CommandFailed:
    is_unreachable = isinstance(failure, AuthorizationError | KafkaTimeoutError | OSError)
    exit_code = ExitCode.CANNOT_CONNECT if is_unreachable else ExitCode.FAILED
    return CommandFailed(f"{topic} cannot be read: {_said(failure)}", exit_code)


def _said(failure: Exception) -> str:
    """Return a failure in one line."""
    return " ".join(str(failure).split()) or type(failure).__name__


def _record(found: Any) -> Record:
    headers = tuple((name, value) for name, value in found.headers or ())
    return Record(found.key, found.value, headers, found.timestamp, found.offset)
