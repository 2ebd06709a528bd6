"""Producing and consuming with kafka-python.

It reads its schemas, while it is imported, in a way that Python 3.11 warns about, and pytest takes warnings for
errors.
"""

import itertools
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.net.sasl.oauth import AbstractTokenProvider

TIMEOUT_SECONDS: Final = 60.0


class _Token(AbstractTokenProvider):  # type: ignore[misc]  # the client publishes no types
    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token


def token_provider(token: str) -> object:
    """The option `sasl_oauth_token_provider` that always gives this token."""
    return _Token(token)


def produce(
    bootstrap_servers: str, topic: str, values: Iterable[str], options: Mapping[str, Any] | None = None
) -> None:
    """Produce `values`, each acknowledged by all replicas; `options` are kafka-python's."""
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all", **(options or {}))
    try:
        answers = [producer.send(topic, value.encode()) for value in values]
        for answer in answers:
            answer.get(TIMEOUT_SECONDS)
    finally:
        producer.close()


def consume(
    bootstrap_servers: str, topic: str, count: int, options: Mapping[str, Any] | None = None
) -> list[str]:
    """Consume `count` values of a topic from its beginning, without a group; fewer when they do not come in time."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap_servers,
        auto_offset_reset="earliest",
        consumer_timeout_ms=int(TIMEOUT_SECONDS * 1000),
        **(options or {}),
    )
    try:
        return [message.value.decode() for message in itertools.islice(consumer, count)]
    finally:
        consumer.close()
