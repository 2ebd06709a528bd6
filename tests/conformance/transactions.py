"""Transactions of a producer, begun, and ended as a case says."""

from types import TracebackType
from typing import Final, Self

from confluent_kafka import Producer

TIMEOUT_SECONDS: Final = 60.0


class Transaction:
    """One transaction, open from the beginning of a `with` on; ended by who says how."""

    def __init__(self, address: str, transactional_id: str) -> None:
        self._producer = Producer({"bootstrap.servers": address, "transactional.id": transactional_id})
        self._producer.init_transactions(TIMEOUT_SECONDS)
        self._is_open = False

    def write(self, topic: str, *values: str) -> None:
        """Write records to partition 0; they are in the log when this returns."""
        for value in values:
            self._producer.produce(topic, value.encode(), partition=0)
        left = self._producer.flush(TIMEOUT_SECONDS)
        assert left == 0, f"{left} records were not acknowledged"

    def commit(self) -> None:
        """End it well."""
        self._is_open = False
        self._producer.commit_transaction(TIMEOUT_SECONDS)

    def abort(self) -> None:
        """Take back what it wrote."""
        self._is_open = False
        self._producer.abort_transaction(TIMEOUT_SECONDS)

    def __enter__(self) -> Self:
        self._producer.begin_transaction()
        self._is_open = True
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_open:
            self.abort()
