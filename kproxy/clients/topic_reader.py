"""Reading a topic with kafka-python: which offsets there are, which there were, and the records of some.

kafka-python reads its schemas, while it is imported, in a way that Python 3.11 warns about; and it takes a while: the
command line imports this module in the commands that need it.
"""

import logging
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

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
    from kafka.net.sasl.oauth import AbstractTokenProvider

from kproxy.clients.failures import (
    CannotConnect,
    ClientFailed,
    NotThere,
    TopicNotThere,
    WrongAddress,
    WrongClientOption,
)
from kproxy.clients.log_ranges import Leaderless, LogRange, PartitionEnd, TopicEnd, leaderless_text
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire.records import Record

KNOWN_OPTIONS: Final[Mapping[str, object]] = KafkaConsumer.DEFAULT_CONFIG
"""Every option of a consumer of kafka-python, with its default."""

_CONNECT_TIMEOUT_S: Final = 5.0
_REQUEST_TIMEOUT_MS: Final = 15_000
_POLL_MS: Final = 500
_OPTIONS: Final[Mapping[str, object]] = {
    "enable_auto_commit": False,
    "allow_auto_create_topics": False,
    "bootstrap_timeout_ms": 10_000,
    "request_timeout_ms": _REQUEST_TIMEOUT_MS,
    "metrics_enabled": False,
}
"""What a consumer is made with, unless its user says otherwise."""
_SILENCE_S: Final = 30.0
"""How long a read may make no progress before it is given up."""


class TopicReader:
    """A connected `KafkaConsumer` for one topic."""

    def __init__(self, consumer: Any, topic: str, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._topic = topic
        self._now_s = now_s

    def ranges(self) -> list[LogRange]:
        """Return what each partition holds now, ascending.

        Raises TopicNotThere, CannotConnect when a partition has no leader, and ClientFailed otherwise.
        """
        ranges, leaderless = self.ranges_with_leader()
        if leaderless:
            raise CannotConnect(
                f"{self._topic} cannot be read: {leaderless_text(leaderless)}; ask again when there is one"
            )
        return ranges

    def ranges_with_leader(self) -> tuple[list[LogRange], list[Leaderless]]:
        """Return what each partition holds that has a leader, and those that have none, ascending.

        Raises TopicNotThere, and ClientFailed otherwise.
        """
        with self._failing_in_words():
            partitions = [TopicPartition(self._topic, number) for number in self._numbers()]
            first_offsets = self._offsets(self._consumer.beginning_offsets, partitions)
            end_offsets = self._offsets(self._consumer.end_offsets, partitions)
        led = [each for each in partitions if each in first_offsets and each in end_offsets]
        ranges = [LogRange(each.partition, first_offsets[each], end_offsets[each]) for each in led]
        return ranges, [self._leaderless(each) for each in partitions if each not in led]

    def _offsets(self, ask: Callable[[list[Any]], dict[Any, int]], partitions: list[Any]) -> dict[Any, int]:
        """Return what kafka-python answers, without the partitions that have no leader."""
        try:
            return ask(partitions)
        except KeyError:
            # kafka-python misses partitions without a leader in an answer for which it did not ask about them.
            led = [each for each in partitions if self._has_leader(each)]
        try:
            return ask(led) if led else {}
        except KeyError as lost:
            raise ClientFailed(f"{self._topic}: {_said(lost)} has just lost its leader; ask again") from lost

    def _leaderless(self, partition: Any) -> Leaderless:
        cluster = self._consumer._client.cluster  # noqa: SLF001 - there is no public way to the replicas
        known = cluster._partitions.get(partition.topic, {}).get(partition.partition)  # noqa: SLF001
        present = {broker.node_id for broker in cluster.brokers()}
        replicas = () if known is None else known.replica_nodes
        return Leaderless(partition.partition, tuple(each for each in replicas if each not in present))

    def _numbers(self) -> list[int]:
        numbers = sorted(self._consumer.partitions_for_topic(self._topic))
        if not numbers:
            raise TopicNotThere(
                f"the backing cluster has no topic {self._topic}, or this client may not see it"
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

    def topic_ends(
        self, topics: Mapping[str, str], *, earlier_ms: int
    ) -> dict[tuple[str, int], PartitionEnd]:
        """Return by topic id and partition where consumed topics, given as names by id, end now and ended before.

        One whose name the cluster does not have, or has for another id, is left out; a partition without a leader is
        told as Leaderless. The brokers are asked once for all partitions. Raises ClientFailed.
        """
        with self._failing_in_words():
            asked = {
                TopicPartition(name, number): topic_id
                for topic_id, name in topics.items()
                for number in self._consumer.partitions_for_topic(name)
                if self._topic_id_of(name) == topic_id
            }
            # kafka-python waits for a leader until its time is over if there is none for all that it is asked.
            led = [each for each in asked if self._has_leader(each)]
            ends = self._offsets(self._consumer.end_offsets, led) if led else {}
            earlier = self._consumer.offsets_for_times(dict.fromkeys(ends, earlier_ms)) if ends else {}
        # It says of a partition that lost its leader meanwhile what it says of one without a later record: None.
        return {
            (topic_id, each.partition): _topic_end(ends[each], earlier[each])
            if each in ends and self._has_leader(each)
            else self._leaderless(each)
            for each, topic_id in asked.items()
        }

    def _has_leader(self, partition: Any) -> bool:
        cluster = self._consumer._client.cluster  # noqa: SLF001 - there is no public way to the leaders
        return (cluster.leader_for_partition(partition) or 0) >= 0

    def _topic_id_of(self, name: str) -> str:
        found = self._consumer._client.cluster.topic_id(name)  # noqa: SLF001 - there is no public way to the ids
        return "" if found is None else topic_id_text(TopicId(found.bytes))

    def identity(self) -> str:
        """Return the ids of cluster and topic. Raises TopicNotThere, and ClientFailed otherwise."""
        with self._failing_in_words():
            self._numbers()
        cluster = self._consumer._client.cluster  # noqa: SLF001 - there is no public way to the ids
        return f"{cluster.cluster_id}:{self._topic}:{cluster.topic_id(self._topic)}"

    def polls(self, wanted: LogRange) -> Iterator[list[Record]]:
        """Yield the records of a range in order, those of one poll together; never none.

        Raises NotThere when the log begins later by now, and ClientFailed when the cluster stops answering.
        """
        partition = TopicPartition(self._topic, wanted.partition)
        next_offset, moved_s = wanted.first_offset, self._now_s()
        self._consumer.assign([partition])
        self._consumer.seek(partition, next_offset)
        while next_offset < wanted.end_offset:
            found, position = self._poll(partition)
            records = [_record(record) for record in found if record.offset < wanted.end_offset]
            if records:
                yield records
            if position > next_offset:
                next_offset, moved_s = position, self._now_s()
            elif self._now_s() - moved_s > _SILENCE_S:
                raise ClientFailed(f"{self._topic}-{wanted.partition} gives nothing at offset {next_offset}")

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
            raise NotThere(
                f"{self._topic}: records were deleted while they were read ({_said(failure)}); "
                "start again, from a later time"
            ) from failure
        except (KafkaError, OSError, ValueError) as failure:
            is_unreachable = isinstance(failure, AuthorizationError | KafkaTimeoutError | OSError)
            raised = CannotConnect if is_unreachable else ClientFailed
            raise raised(f"{self._topic} cannot be read: {_said(failure)}") from failure


@contextmanager
def connected(bootstrap_servers: Sequence[str], options: Mapping[str, object]) -> Iterator[Any]:
    """Give a `KafkaConsumer` for the length of the block, made with these options of kafka-python.

    Raises:
        WrongAddress: one of the servers is no HOST:PORT.
        WrongClientOption: kafka-python does not take an option.
        CannotConnect: nobody answers.
    """
    # What goes wrong is said once, as the error of whoever reads.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    _require_somebody(bootstrap_servers)
    try:
        consumer = KafkaConsumer(bootstrap_servers=list(bootstrap_servers), **{**_OPTIONS, **options})
    except (AssertionError, KafkaConfigurationError, ValueError) as failure:
        raise WrongClientOption(_said(failure)) from failure
    except (KafkaError, OSError) as failure:
        # Somebody took a connection: a broker that expects another protocol closes it, and does not say why.
        advice = (
            "" if "security_protocol" in options else "; it may expect TLS or SASL: set security.protocol"
        )
        raise _unreachable(bootstrap_servers, _said(failure) + advice) from failure
    try:
        yield consumer
    finally:
        consumer.close()


def token_provider(token: Callable[[], str]) -> object:
    """Return the option `sasl_oauth_token_provider`: `token` gives a token that is valid now."""
    return _Tokens(token)


class _Tokens(AbstractTokenProvider):  # type: ignore[misc]  # the client publishes no types
    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    def token(self) -> str:
        return self._token()


def _require_somebody(bootstrap_servers: Sequence[str]) -> None:
    """Raise CannotConnect when nobody takes a connection: kafka-python would go on trying, and not say why."""
    reasons = []
    for server in bootstrap_servers:
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT_S).close()
        except ValueError:
            raise WrongAddress(f"-b {server!r}: expected HOST:PORT") from None
        except OSError as failure:
            reasons.append(_said(failure))
        else:
            return
    raise _unreachable(bootstrap_servers, "; ".join(dict.fromkeys(reasons)))


def _unreachable(bootstrap_servers: Sequence[str], reason: str) -> CannotConnect:
    return CannotConnect(f"cannot reach the backing cluster at {','.join(bootstrap_servers)}: {reason}")


def _said(failure: Exception) -> str:
    """Return a failure in one line."""
    return " ".join(str(failure).split()) or type(failure).__name__


def _topic_end(end_offset: int, earlier: Any) -> TopicEnd:
    return TopicEnd(end_offset, end_offset if earlier is None else earlier.offset)


def _record(found: Any) -> Record:
    headers = tuple((name, value) for name, value in found.headers or ())
    return Record(found.key, found.value, headers, found.timestamp, found.offset)
