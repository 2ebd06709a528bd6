"""Brokers that forget producers after a second: who claims a slot next has another producer id, which fences nobody."""

from typing import Final

EXPIRING_PRODUCERS: Final = {
    "transactional.id.expiration.ms": 1_000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 500,
    "producer.id.expiration.ms": 1_000,
    "producer.id.expiration.check.interval.ms": 500,
    "log.cleaner.backoff.ms": 100,
}
