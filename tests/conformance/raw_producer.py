"""A producer of transactions that sends raw requests: each write is one record batch, and nothing runs beside it."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from tests.conformance import kio_requests, preparation
from tests.conformance.member import Topic
from tests.in_memory.record_batch_bytes import transactional_batch
from tests.real_kafka.raw_connection import RawConnection

INIT_VERSION: Final = 4
ADD_VERSION: Final = 3
END_VERSION: Final = 3
TRANSACTION_TIMEOUT: Final = timedelta(minutes=10)
PATIENCE_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.02
LATER: Final = frozenset({*preparation.NOT_YET, ErrorCode.CONCURRENT_TRANSACTIONS})
"""What the coordinator says until it is there, and until the last transaction is over."""


class RawProducer:
    """A producer that writes to partition 0 of one topic. The first write begins a transaction."""

    def __init__(self, connection: RawConnection, transactional_id: str, topic: Topic) -> None:
        self._connection, self._transactional_id, self._topic = connection, transactional_id, topic
        preparation.find_coordinator(connection, transactional_id, key_type=preparation.TRANSACTIONAL_ID)
        answer = self._ask(
            "init_producer_id",
            INIT_VERSION,
            lambda module: module.InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout=TRANSACTION_TIMEOUT
            ),
            lambda answer: answer.error_code,
        )
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        self._sequence = 0
        self._is_open = False

    def write(self, values: Sequence[str]) -> None:
        """Append a record batch to the open transaction."""
        if not self._is_open:
            self._begin()
        batch = transactional_batch(
            0,
            [value.encode() for value in values],
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=self._sequence,
            timestamp_ms=time.time_ns() // 1_000_000,
        )
        preparation.produce_bytes(
            self._connection, self._topic, batch, transactional_id=self._transactional_id
        )
        self._sequence += len(values)

    def end(self, *, is_committed: bool) -> None:
        """Commit or abort, if anything is open. The marker of that is in the log when this returns."""
        if not self._is_open:
            return
        end_offset = preparation.end_offset(self._connection, self._topic)
        self._ask(
            "end_txn",
            END_VERSION,
            lambda module: module.EndTxnRequest(
                transactional_id=self._transactional_id,
                producer_id=self._producer_id,
                producer_epoch=self._producer_epoch,
                committed=is_committed,
            ),
            lambda answer: answer.error_code,
        )
        self._is_open = False
        deadline = time.monotonic() + PATIENCE_SECONDS
        while preparation.end_offset(self._connection, self._topic) == end_offset:
            assert time.monotonic() < deadline, f"no marker at {end_offset} of {self._topic.name}"
            time.sleep(PAUSE_SECONDS)

    def _begin(self) -> None:
        self._ask(
            "add_partitions_to_txn",
            ADD_VERSION,
            lambda module: module.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self._transactional_id,
                v3_and_below_producer_id=self._producer_id,
                v3_and_below_producer_epoch=self._producer_epoch,
                v3_and_below_topics=(module.AddPartitionsToTxnTopic(name=self._topic.name, partitions=(0,)),),
            ),
            lambda answer: (
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
        )
        self._is_open = True

    def _ask(self, api: str, version: int, make: Callable[[Any], Any], error_of: Callable[[Any], Any]) -> Any:
        """Ask until the coordinator can answer. Raises `preparation.Refused` when it says no."""
        name = "".join(word.capitalize() for word in api.split("_"))
        response_class = getattr(kio_requests.kio_module(api, version, "response"), f"{name}Response")
        request = make(kio_requests.kio_module(api, version, "request"))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = kio_requests.ask(self._connection, request, response_class)
            error_code = int(error_of(answer))
            if not error_code:
                return answer
            if error_code not in LATER or time.monotonic() > deadline:
                raise preparation.Refused(f"{api} of {self._transactional_id}", error_code, None)
            time.sleep(PAUSE_SECONDS)
