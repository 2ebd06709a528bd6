"""What brokers say of a partition when something is wrong, what clients are told instead, and when another is asked."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.share.identifiers import TopicId

LEADER_DOUBTS: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Answers after which it is worth asking the cluster who leads the partition now, and trying once more."""

DOUBT_MS: Final = 30_000
"""What is doubted so long after it was looked up is doubted for the first time. Where another broker was asked so long
ago, the pause before the next time is the shortest again."""

LEAST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 10_000
"""Between two times that another broker is asked: longer and longer while nobody says other, for then the leader is
down, and all brokers know as much."""

MOST_DOUBTED: Final = 10_000

THE_BROKERS: Final = "the brokers"
"""What is doubted where a broker cannot be reached at the address that is known of it."""

Doubted: TypeAlias = TopicId | str

_TOLD_INSTEAD: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.INCONSISTENT_TOPIC_ID: ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.LEADER_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.OFFSET_NOT_AVAILABLE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""Java's share consumer throws IllegalStateException at a code it does not expect in a ShareFetch partition.

NOT_LEADER_OR_FOLLOWER is one that every client knows and answers with a metadata refresh and another try.
"""


def told_code(error_code: ErrorCode) -> ErrorCode:
    """Return what a share consumer is told about a partition whose read ended with `error_code`."""
    return _TOLD_INSTEAD.get(error_code, error_code)


class RepeatedDoubts:
    """Tells when what was looked up is doubted again, as it is: then whoever was asked may be behind.

    Topics are doubted by those whom a broker told that it is not the leader, or did not tell anything.
    """

    __slots__ = ("_backoff", "_being_looked_up", "_clock", "_for_another_ms", "_looked_up_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._backoff = Backoff(clock, first_ms=LEAST_PAUSE_MS, last_ms=LONGEST_PAUSE_MS)
        self._looked_up_ms: dict[Doubted, int] = {}  # the oldest first
        self._being_looked_up: set[Doubted] = set()
        self._for_another_ms = clock.now_ms()

    def are_for_another(self, doubted: Collection[Doubted]) -> bool:
        """Return whether another broker should be asked about these than the one that was asked the last time."""
        now_ms = self._clock.now_ms()
        since_ms = now_ms - DOUBT_MS
        if self._backoff.remaining_ms > 0:
            return False
        if not any(self._looked_up_ms.get(each, since_ms) > since_ms for each in doubted):
            return False
        if self._for_another_ms <= since_ms:
            self._backoff.succeeded()
        self._for_another_ms = now_ms
        self._backoff.failed()
        return True

    @contextmanager
    def looked_up(self, doubted: Collection[Doubted]) -> Iterator[None]:
        """Around the look at these: what did not change until its end is looked up, unless it fails."""
        self._being_looked_up.update(doubted)
        try:
            yield
            self._note(self._being_looked_up.intersection(doubted))
        finally:
            self._being_looked_up.difference_update(doubted)

    def settle(self, changed: Collection[Doubted]) -> None:
        """Take note that a broker said other of these than was known."""
        if not self._looked_up_ms.keys().isdisjoint(changed):
            self._backoff.succeeded()
        for each in changed:
            self._looked_up_ms.pop(each, None)
        self._being_looked_up.difference_update(changed)

    def _note(self, looked_up: Collection[Doubted]) -> None:
        now_ms = self._clock.now_ms()
        for each in looked_up:
            self._looked_up_ms.pop(each, None)
            self._looked_up_ms[each] = now_ms
        while len(self._looked_up_ms) > MOST_DOUBTED:
            del self._looked_up_ms[next(iter(self._looked_up_ms))]
