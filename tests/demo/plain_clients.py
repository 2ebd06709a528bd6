"""What other clients of the same port see, and what Kafka itself says to a share consumer."""

import logging
import time
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, ShareConsumer

ANSWER_TIMEOUT_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.2

_SILENT: Final = logging.getLogger("tests.demo.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class NoAnswer(RuntimeError):
    """A client did not get what it waited for in time."""


def count_with_a_plain_consumer(bootstrap_servers: str, topic: str) -> int:
    """Read a topic from its first record to its last with an ordinary consumer group; how many there are."""
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "plain-readers",
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    try:
        partitions = consumer.list_topics(topic, timeout=ANSWER_TIMEOUT_SECONDS).topics[topic].partitions
        consumer.subscribe([topic])
        return _count_to_the_end(consumer, set(partitions))
    finally:
        consumer.close()


def refusal_of_a_share_consumer(bootstrap_servers: str, topic: str) -> str | None:
    """The name of the error that a share consumer ends with there; None when it is served."""
    consumer = ShareConsumer({"bootstrap.servers": bootstrap_servers, "group.id": "refused"}, logger=_SILENT)
    consumer.subscribe([topic])
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    try:
        while time.monotonic() < deadline:
            consumer.poll(POLL_SECONDS)
    except KafkaException as error:
        return str(error.args[0].name())
    finally:
        consumer.close()
    return None


def _count_to_the_end(consumer: Consumer, unfinished: set[int]) -> int:
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    count = 0
    while unfinished:
        for message in consumer.consume(500, timeout=POLL_SECONDS):
            if message.error() is None:
                count += 1
            elif message.error().code() == KafkaError._PARTITION_EOF:
                unfinished.discard(message.partition())
            else:
                raise KafkaException(message.error())
        if time.monotonic() > deadline:
            raise NoAnswer(
                f"a plain consumer read {count:,} records and did not come to the end of the topic"
            )
    return count
