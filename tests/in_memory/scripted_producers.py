"""What a partition's leader knows of idempotent producers, as `ProducerStateManager` and `ProducerAppendInfo` do."""

import struct
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from kproxy.error_codes import ErrorCode

REMEMBERED_BATCHES: Final = 5
"""Of each producer: a batch that is sent again is known by these."""

NO_PRODUCER: Final = -1

_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_AFTER_CRC_POSITION: Final = 21


@dataclass(frozen=True, slots=True)
class BatchHead:
    """What a leader looks at in a batch that it is sent."""

    last_offset_delta: int
    timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int

    @classmethod
    def of(cls, batch: bytes) -> "BatchHead":
        """Return the head of `batch`."""
        _, last_offset_delta, _, timestamp_ms, producer_id, epoch, sequence, _ = _AFTER_CRC.unpack_from(
            batch, _AFTER_CRC_POSITION
        )
        return cls(last_offset_delta, timestamp_ms, producer_id, epoch, sequence)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record."""
        return (self.base_sequence + self.last_offset_delta) % 2**31


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[tuple[BatchHead, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))


class ProducerStates:
    """Every producer that wrote to one partition.

    A higher epoch fences the lower ones from the moment its first batch landed, not from the moment it was given
    out; seen so on Kafka 2.8.2, 3.9.2 and 4.3.1.
    """

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def judge(self, head: BatchHead) -> ErrorCode | int | None:
        """Return why a batch is refused, or the base offset that its first copy has; None when it may land."""
        producer = self._producers.get(head.producer_id)
        if head.producer_id == NO_PRODUCER or producer is None:
            return None
        if head.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if head.producer_epoch > producer.epoch:
            return None if head.base_sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        for known, base_offset in producer.batches:
            if (known.base_sequence, known.last_sequence) == (head.base_sequence, head.last_sequence):
                return base_offset
        expected = (producer.batches[-1][0].last_sequence + 1) % 2**31
        return None if head.base_sequence == expected else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def landed(self, head: BatchHead, base_offset: int) -> None:
        """Note a batch that was appended."""
        if head.producer_id == NO_PRODUCER:
            return
        producer = self._producers.get(head.producer_id)
        if producer is None or producer.epoch < head.producer_epoch:
            producer = self._producers[head.producer_id] = _Producer(head.producer_epoch)
        producer.batches.append((head, base_offset))
