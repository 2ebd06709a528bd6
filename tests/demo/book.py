"""Keeps what the processes of the demo tell, as it comes in, with the counts that are shown meanwhile."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Final

from tests.demo.events import Delivered, Event, FellAsleep, Finished, Produced, Settled, Woke
from tests.demo.jobs import JobKind
from tests.demo.ledger import FINAL_OUTCOMES, Delivery, DeliveryId, Outcome, RecordId, Tally

RATE_WINDOW_SECONDS: Final = 2.0


class Book:
    """All records and deliveries of a demo. Times are seconds of one monotonic clock."""

    def __init__(self, members: Sequence[str]) -> None:
        self.members = tuple(members)
        self.produced: dict[RecordId, JobKind] = {}
        self.deliveries: list[Delivery] = []
        self.tallies = {member: Tally() for member in members}
        """The counts of `deliveries` by member."""
        self.errors: Counter[str] = Counter()
        """What acknowledgements that failed were answered with."""
        self.asleep_until: dict[str, float] = {}
        """When the members that sleep now will wake."""
        self.finished: set[str] = set()
        """Who said that there is no more to come."""
        self.first_accepted_at: float | None = None
        self.last_news_at = 0.0
        self._open: dict[tuple[str, DeliveryId], int] = {}
        self._settled: set[RecordId] = set()
        self._recent: deque[tuple[float, int]] = deque()

    @property
    def settled_count(self) -> int:
        """How many records are accepted or rejected."""
        return len(self._settled)

    def total(self, outcome: Outcome) -> int:
        """How many deliveries of all members have ended so."""
        return sum(counts.outcomes[outcome] for counts in self.tallies.values())

    def rate(self, now: float) -> float:
        """Records accepted or rejected per second, over the last two seconds."""
        while self._recent and self._recent[0][0] < now - RATE_WINDOW_SECONDS:
            self._recent.popleft()
        return sum(count for _, count in self._recent) / RATE_WINDOW_SECONDS

    def note(self, who: str, event: Event, now: float) -> None:
        """Take down what a process told."""
        self.last_news_at = now
        match event:
            case Produced(records):
                self.produced.update(records)
            case Delivered(delivery_ids):
                self._note_delivered(who, delivery_ids)
            case Settled(outcome, delivery_ids, error):
                self._note_settled(who, outcome, delivery_ids, now)
                if outcome is Outcome.FAILED:
                    self.errors[str(error)] += len(delivery_ids)
            case FellAsleep(seconds):
                self.asleep_until[who] = now + seconds
            case Woke():
                self.asleep_until.pop(who, None)
            case Finished():
                self.finished.add(who)

    def _note_delivered(self, member: str, delivery_ids: Sequence[DeliveryId]) -> None:
        for delivery_id in delivery_ids:
            # The same delivery twice stays in the book twice: the rules will find the one nobody ended.
            self._open[member, delivery_id] = len(self.deliveries)
            self.deliveries.append(Delivery(member, delivery_id, Outcome.HELD))
            self.tallies[member].note_delivery(delivery_id)

    def _note_settled(
        self, member: str, outcome: Outcome, delivery_ids: Sequence[DeliveryId], now: float
    ) -> None:
        for delivery_id in delivery_ids:
            position = self._open.pop((member, delivery_id))
            self.deliveries[position] = Delivery(member, delivery_id, outcome)
        self.tallies[member].outcomes[outcome] += len(delivery_ids)
        if outcome in FINAL_OUTCOMES:
            self._settled.update(delivery_id.record for delivery_id in delivery_ids)
            self._recent.append((now, len(delivery_ids)))
        if outcome is Outcome.ACCEPTED and self.first_accepted_at is None:
            self.first_accepted_at = now
