"""Reads of a ShareFetch that a broker's quotas hold back, and how long its client is asked to wait.

A broker over its quotas answers a read of kproxy's with nothing but ThrottleTimeMs, and takes no request of that
connection until the time is over (KIP-219). So does kproxy: nothing is acquired, and the ShareFetch whose read was
answered so is over at once, with the same ThrottleTimeMs. One that comes while the time runs is not read for, and
waits for its end: a client that does not wait by itself cannot keep kproxy busy.

Known difference from a stock broker: that acquires the records before it asks its quotas, and leaves them locked.
"""

from collections.abc import Mapping

from kproxy.handlers.ports import Clock, PartitionData
from kproxy.share.identifiers import TopicIdPartition


class ThrottledReads:
    """Those of the last round of one fetch."""

    __slots__ = ("_clock", "_until_ms", "is_told")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until_ms = 0
        self.is_told = False
        """Whether a read of this fetch was answered with a throttle time: its client is to hear of it."""

    @property
    def remaining_ms(self) -> int:
        """For how much longer nothing is read of what was held back; 0 when nothing was."""
        return max(0, self._until_ms - self._clock.now_ms()) if self._until_ms else 0

    def begin_round(self) -> None:
        """Forget what was held back: it is read now, or nothing of it is to be read by this fetch."""
        self._until_ms = 0

    def left_of(
        self, results: Mapping[TopicIdPartition, PartitionData]
    ) -> Mapping[TopicIdPartition, PartitionData]:
        """Return those of `results`, of a read of this round, that were not held back."""
        throttles = [data.throttle for data in results.values() if data.throttle is not None]
        if not throttles:
            return results
        self._until_ms = self._clock.now_ms() + max(throttle.remaining_ms for throttle in throttles)
        self.is_told |= any(throttle.is_new for throttle in throttles)
        return {partition: data for partition, data in results.items() if data.throttle is None}

    def bounded(self, deadline_ms: int) -> int:
        """Return when to look again, on the Clock: at `deadline_ms`, or as soon as what was held back may be read."""
        return min(deadline_ms, self._until_ms) if self._until_ms else deadline_ms
