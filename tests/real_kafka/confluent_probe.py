"""The process of a `ConfluentShareMember`: obeys the commands that `share_member` describes.

Arguments: `BOOTSTRAP_SERVERS GROUP TOPIC[,TOPIC] [KEY=VALUE]…`.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer, TopicPartition


class ConfluentProbe:
    """A `ShareConsumer` in explicit acknowledgement mode and the records that it has not acknowledged yet."""

    def __init__(self, settings: Mapping[str, str], topics: list[str]) -> None:
        self._consumer = ShareConsumer({"share.acknowledgement.mode": "explicit", **settings})
        self._consumer.set_acknowledgement_commit_callback(_tell_answered_acknowledgements)
        self._consumer.subscribe(topics)
        self._unacknowledged: dict[tuple[str, int, int], Message] = {}

    def poll(self, timeout_ms: str) -> None:
        """Deliver the records of one poll."""
        messages = list(self._consumer.poll(int(timeout_ms) / 1000))
        failed = [message.error() for message in messages if message.error() is not None]
        if failed:
            raise KafkaException(failed[0])
        for message in messages:
            self._unacknowledged[message.topic(), message.partition(), message.offset()] = message
            _tell_record(message)
        _tell("polled", count=len(messages))

    def ack(self, how: str, topic: str, partition: str, offsets: str) -> None:
        """Acknowledge some offsets of a partition."""
        ids = [(topic, int(partition), int(offset)) for offset in offsets.split(",")]
        for record_id in ids:
            self._unacknowledged.pop(record_id, None)
            self._consumer.acknowledge_offset(*record_id, AcknowledgeType[how])
        _tell("acknowledged", count=len(ids))

    def ackall(self, how: str) -> None:
        """Acknowledge whatever is not acknowledged yet."""
        messages = list(self._unacknowledged.values())
        self._unacknowledged.clear()
        for message in messages:
            self._consumer.acknowledge(message, AcknowledgeType[how])
        _tell("acknowledged", count=len(messages))

    def commit(self, timeout_ms: str) -> None:
        """Send the acknowledgements and tell what each partition answered."""
        outcomes: Mapping[TopicPartition, KafkaException | None] = self._consumer.commit_sync(
            int(timeout_ms) / 1000
        )
        partitions = [
            {"topic": partition.topic, "partition": partition.partition, "error": _error_name(error)}
            for partition, error in outcomes.items()
        ]
        _tell("committed", partitions=partitions)

    def commit_async(self) -> None:
        """Send the acknowledgements without waiting."""
        self._consumer.commit_async()
        _tell("commit_started")

    def subscribe(self, topics: str) -> None:
        """Replace the subscription."""
        self._consumer.subscribe(topics.split(","))
        _tell("subscribed")

    def close(self, _timeout_ms: str) -> None:
        """Leave the group; the client has no bound of its own for that."""
        self._consumer.close()
        _tell("closed")


def main() -> None:
    """Obey the commands of standard input until `close` or its end."""
    bootstrap_servers, group, topics, *more = sys.argv[1:]
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": group}
    settings |= dict(setting.split("=", 1) for setting in more)
    probe = ConfluentProbe(settings, topics.split(","))
    commands: dict[str, Callable[..., None]] = {
        "poll": probe.poll,
        "ack": probe.ack,
        "ackall": probe.ackall,
        "commit": probe.commit,
        "commit-async": probe.commit_async,
        "subscribe": probe.subscribe,
        "close": probe.close,
    }
    _tell("ready")
    for line in sys.stdin:
        name, *arguments = line.split()
        _obey(commands[name], arguments)
        if name == "close":
            return


def _obey(command: Callable[..., None], arguments: list[str]) -> None:
    # Whatever the client raises is an answer that the test judges.
    try:
        command(*arguments)
    except Exception as error:  # noqa: BLE001
        _tell("error", error=_error_name(error), message=str(error))


def _tell_record(message: Message) -> None:
    _tell(
        "record",
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        key=_text(message.key()),
        value=_text(message.value()),
        delivery_count=message.delivery_count(),
    )


def _tell_answered_acknowledgements(
    offsets: Mapping[TopicPartition, set[int]], error: KafkaException | None
) -> None:
    for partition, answered in offsets.items():
        _tell(
            "answered",
            topic=partition.topic,
            partition=partition.partition,
            offsets=sorted(answered),
            error=_error_name(error),
        )


def _error_name(error: Exception | None) -> str | None:
    if error is None:
        return None
    if isinstance(error, KafkaException):
        return str(error.args[0].name())
    return type(error).__name__


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _tell(event: str, **keys: Any) -> None:
    print(json.dumps({"event": event, **keys}), flush=True)


if __name__ == "__main__":
    main()
