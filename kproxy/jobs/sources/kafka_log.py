"""A topic of the state log, read with kafka-python: what there is of it, and its records as batches of rows.

kafka-python reads its schemas, while it is imported, in a way that Python 3.11 warns about.
"""

import logging
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import pyarrow as pa

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import (
        AuthorizationError,
        KafkaConfigurationError,
        KafkaError,
        KafkaTimeoutError,
        OffsetOutOfRangeError,
    )

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.client_properties import client_options
from kproxy.jobs.sources.log_reader import LogRange, TopicEnd
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire.records import Record

_CONNECT_TIMEOUT_S: Final = 5.0
_REQUEST_TIMEOUT_MS: Final = 15_000
_POLL_MS: Final = 500
_CLIENT_OPTIONS: Final[Mapping[str, object]] = {
    "client_id": "kproxy-replay",
    "enable_auto_commit": False,
    "auto_offset_reset": "none",
    "allow_auto_create_topics": False,
    "max_poll_records": 10_000,
    "max_partition_fetch_bytes": 8 * 2**20,
    # Only what is there is read. A broker that waits for more keeps the connection from the next range.
    "fetch_max_wait_ms": 20,
    "bootstrap_timeout_ms": 10_000,
    "request_timeout_ms": _REQUEST_TIMEOUT_MS,
    "metrics_enabled": False,
}
"""What the consumer is made with, unless `-K` says otherwise."""
_SILENCE_S: Final = 30.0
"""How long a read may make no progress before it is given up."""


class LogConsumer(Protocol):
    """A connection to a topic of the state log."""

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds now, ascending. Raises JobFailed."""
        ...

    def batches(self, wanted: LogRange) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range in order, as rows. Raises JobFailed when some are gone."""
        ...


class LogTopic(Protocol):
    """A topic of the state log that can be connected to, on the driver and on executors."""

    def consumer(self) -> AbstractContextManager[LogConsumer]:
        """Connect for the length of a block. Raises JobFailed."""
        ...


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic, and how to connect to its cluster: `properties` are those of Kafka clients, beside the servers."""

    bootstrap_servers: str
    name: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def consumer(self) -> Iterator["TopicConsumer"]:
        """Connect for the length of the block. Raises JobFailed: CANNOT_CONNECT when nobody answers."""
        # What goes wrong is said once, as the job's own error.
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        given = client_options(self.properties, KafkaConsumer.DEFAULT_CONFIG)
        _require_somebody(self.bootstrap_servers)
        try:
            consumer = KafkaConsumer(
                bootstrap_servers=self.bootstrap_servers.split(","), **{**_CLIENT_OPTIONS, **given}
            )
        except (AssertionError, KafkaConfigurationError, ValueError) as failure:
            raise JobFailed(f"-K: {_said(failure)}", ExitCode.USAGE) from failure
        except (KafkaError, OSError) as failure:
            raise _unreachable(self.bootstrap_servers, _said(failure)) from failure
        try:
            yield TopicConsumer(consumer, self.name)
        finally:
            consumer.close()


class TopicConsumer:
    """A connected `KafkaConsumer` for one topic."""

    def __init__(self, consumer: Any, topic: str, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._topic = topic
        self._now_s = now_s

    def ranges(self) -> list[LogRange]:
        """Return what each partition holds now, ascending. Raises JobFailed: NOT_FOUND without such a topic."""
        with self._failing_in_words():
            partitions = [TopicPartition(self._topic, number) for number in self._numbers()]
            first_offsets = self._consumer.beginning_offsets(partitions)
            end_offsets = self._consumer.end_offsets(partitions)
        return [LogRange(each.partition, first_offsets[each], end_offsets[each]) for each in partitions]

    def _numbers(self) -> list[int]:
        numbers = sorted(self._consumer.partitions_for_topic(self._topic))
        if not numbers:
            raise JobFailed(
                f"the backing cluster has no topic {self._topic}, or this client may not see it; "
                "another name is given with --state-topic or --groups-topic",
                ExitCode.NOT_FOUND,
            )
        return numbers

    def offsets_at(self, timestamp_ms: int) -> dict[int, int]:
        """Return, by partition, the first offset written at this time or later; its end when there is none."""
        ranges = self.ranges()
        asked = {TopicPartition(self._topic, held.partition): timestamp_ms for held in ranges}
        with self._failing_in_words():
            found = self._consumer.offsets_for_times(asked)
        ends = {held.partition: held.end_offset for held in ranges}
        return {
            each.partition: ends[each.partition] if answer is None else answer.offset
            for each, answer in found.items()
        }

    def topic_ends(self, topics: Mapping[str, str], *, earlier_ms: int) -> dict[tuple[str, int], TopicEnd]:
        """Return by topic id and partition where consumed topics, given as names by id, end now and ended before.

        One whose name the cluster does not have, or has for another id, is left out. The brokers are asked once for
        all partitions. Raises JobFailed.
        """
        with self._failing_in_words():
            asked = {
                TopicPartition(name, number): topic_id
                for topic_id, name in topics.items()
                for number in self._consumer.partitions_for_topic(name)
                if self._topic_id_of(name) == topic_id
            }
            if not asked:
                return {}
            ends = self._consumer.end_offsets(list(asked))
            earlier = self._consumer.offsets_for_times(dict.fromkeys(asked, earlier_ms))
        return {
            (topic_id, each.partition): TopicEnd(
                ends[each], ends[each] if earlier[each] is None else earlier[each].offset
            )
            for each, topic_id in asked.items()
        }

    def _topic_id_of(self, name: str) -> str:
        found = self._consumer._client.cluster.topic_id(name)  # noqa: SLF001 - there is no public way to the ids
        return "" if found is None else topic_id_text(TopicId(found.bytes))

    def identity(self) -> str:
        """Return the ids of cluster and topic. Raises JobFailed: NOT_FOUND without such a topic."""
        with self._failing_in_words():
            self._numbers()
        cluster = self._consumer._client.cluster  # noqa: SLF001 - there is no public way to the ids
        return f"{cluster.cluster_id}:{self._topic}:{cluster.topic_id(self._topic)}"

    def batches(self, wanted: LogRange) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range in order, as rows. Raises JobFailed when the log begins later by now."""
        partition = TopicPartition(self._topic, wanted.partition)
        next_offset, moved_s = wanted.first_offset, self._now_s()
        self._consumer.assign([partition])
        self._consumer.seek(partition, next_offset)
        while next_offset < wanted.end_offset:
            found, position = self._poll(partition)
            records = [_record(record) for record in found if record.offset < wanted.end_offset]
            if records:
                yield batch_of(wanted.partition, records)
            if position > next_offset:
                next_offset, moved_s = position, self._now_s()
            elif self._now_s() - moved_s > _SILENCE_S:
                raise JobFailed(f"{self._topic}-{wanted.partition} gives nothing at offset {next_offset}")

    def _poll(self, partition: Any) -> tuple[Sequence[Any], int]:
        """Return the records that are there, and the offset after them."""
        with self._failing_in_words():
            found = self._consumer.poll(timeout_ms=_POLL_MS).get(partition, [])
            return found, self._consumer.position(partition, timeout_ms=_REQUEST_TIMEOUT_MS) or 0

    @contextmanager
    def _failing_in_words(self) -> Iterator[None]:
        try:
            yield
        except OffsetOutOfRangeError as failure:
            raise JobFailed(
                f"{self._topic}: records were deleted while they were read ({_said(failure)}); "
                "start again, from a later time",
                ExitCode.NOT_FOUND,
            ) from failure
        except (KafkaError, OSError, ValueError) as failure:
            is_unreachable = isinstance(failure, AuthorizationError | KafkaTimeoutError | OSError)
            exit_code = ExitCode.CANNOT_CONNECT if is_unreachable else ExitCode.FAILED
            raise JobFailed(f"{self._topic} cannot be read: {_said(failure)}", exit_code) from failure


def _require_somebody(bootstrap_servers: str) -> None:
    """Raise JobFailed when nobody accepts a connection: kafka-python would go on trying, and not say why."""
    reasons = []
    for server in bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT_S).close()
        except ValueError:
            raise JobFailed(f"-b {server!r}: expected HOST:PORT", ExitCode.USAGE) from None
        except OSError as failure:
            reasons.append(_said(failure))
        else:
            return
    raise _unreachable(bootstrap_servers, "; ".join(dict.fromkeys(reasons)))


def _unreachable(bootstrap_servers: str, reason: str) -> JobFailed:
    return JobFailed(
        f"cannot reach the backing cluster at {bootstrap_servers}: {reason}", ExitCode.CANNOT_CONNECT
    )


def _said(failure: Exception) -> str:
    """Return a failure in one line."""
    return " ".join(str(failure).split()) or type(failure).__name__


def _record(found: Any) -> Record:
    headers = tuple((name, value) for name, value in found.headers or ())
    return Record(found.key, found.value, headers, found.timestamp, found.offset)
