"""Producing and consuming with kafka-python.

It reads its schemas, while it is imported, in a way that Python 3.11 warns about, and pytest takes warnings for
errors.
"""

import itertools
import warnings
from collections.abc import Iterable
from typing import Final

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer

TIMEOUT_SECONDS: Final = 60.0


def produce(bootstrap_servers: str, topic: str, values: Iterable[str]) -> None:
    """Produce `values`, each acknowledged by all replicas."""
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all")
    try:
        answers = [producer.send(topic, value.encode()) for value in values]
        for answer in answers:
            answer.get(TIMEOUT_SECONDS)
    finally:
        producer.close()


def consume(bootstrap_servers: str, topic: str, count: int) -> list[str]:
    """Consume `count` values of a topic from its beginning, without a group; fewer when they do not come in time."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap_servers,
        auto_offset_reset="earliest",
        consumer_timeout_ms=int(TIMEOUT_SECONDS * 1000),
    )
    try:
        return [message.value.decode() for message in itertools.islice(consumer, count)]
    finally:
        consumer.close()
