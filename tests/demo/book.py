"""Keeps what the processes of the demo tell, as it comes in, with the counts that are shown meanwhile."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Final

from tests.demo.crash import Crash
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
        self.crash: Crash | None = None
        """What is known of the kill, once it has come."""
        self._open: dict[tuple[str, DeliveryId], int] = {}
        self._latest: dict[RecordId, int] = {}
        self._settled: set[RecordId] = set()
        self._recent: deque[tuple[float, int]] = deque()

    @property
    def settled_count(self) -> int:
        """How many records are accepted or rejected."""
        return len(self._settled)

    @property
    def without_answer(self) -> int:
        """How many records were cut off by the kill, and nobody has got since."""
        return sum(self.deliveries[one].outcome is Outcome.CUT_OFF for one in self._latest.values())

    def in_hand(self, *, asleep: bool) -> list[int]:
        """The positions of the deliveries that members have in hand who sleep, or who do not."""
        return [
            position
            for (member, _), position in self._open.items()
            if (member in self.asleep_until) is asleep
        ]

    def is_overtaken(self, position: int) -> bool:
        """Whether the record of this delivery was delivered again later."""
        return self._latest[self.deliveries[position].id.record] > position

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
            case Settled():
                self._note_settled(who, event, now)
            case FellAsleep(seconds):
                self.asleep_until[who] = now + seconds
            case Woke():
                self.asleep_until.pop(who, None)
            case Finished():
                self.finished.add(who)

    def note_kill(self, now: float) -> None:
        """Take down that kproxy was killed: what members have in hand is in flight then."""
        in_hand = set(self._open.values())
        overtaken = frozenset(position for position in in_hand if self.is_overtaken(position))
        self.crash = Crash(now, in_hand - overtaken, overtaken, frozenset(self._settled))

    def note_back(self, now: float) -> None:
        """Take down that kproxy answers again, but has delivered nothing yet."""
        assert self.crash is not None, "nobody was killed"
        self.crash.back_at = now
        self.crash.first_position_after = len(self.deliveries)

    def _note_delivered(self, member: str, delivery_ids: Sequence[DeliveryId]) -> None:
        for delivery_id in delivery_ids:
            # The same delivery twice stays in the book twice: the rules will find the one nobody ended.
            position = len(self.deliveries)
            self._open[member, delivery_id] = position
            self.deliveries.append(Delivery(member, delivery_id, Outcome.HELD))
            self.tallies[member].note_delivery(is_first=self._is_first(delivery_id))
            self._latest[delivery_id.record] = position
            if self.crash is not None and self.crash.back_at is None:
                # What a dead kproxy had sent before.
                self.crash.in_flight.add(position)

    def _is_first(self, delivery_id: DeliveryId) -> bool:
        if delivery_id.delivery_count > 1:
            return False
        # The first two of one record can have the same count only if the first was in flight at the kill.
        latest = self._latest.get(delivery_id.record)
        return latest is None or self.crash is None or latest not in self.crash.in_flight

    def _note_settled(self, member: str, settled: Settled, now: float) -> None:
        outcome, delivery_ids, error = settled.outcome, settled.deliveries, settled.error
        for delivery_id in delivery_ids:
            position = self._open.pop((member, delivery_id))
            self._note_ending(position, outcome, error)
            if outcome is Outcome.ACCEPTED and self.crash is not None and self.crash.is_after(position):
                self.crash.accepted_by.add(member)
                self.crash.first_accepted_at = self.crash.first_accepted_at or now
        if outcome in FINAL_OUTCOMES:
            self._settled.update(delivery_id.record for delivery_id in delivery_ids)
            self._recent.append((now, len(delivery_ids)))
        if outcome is Outcome.ACCEPTED and self.first_accepted_at is None:
            self.first_accepted_at = now

    def _note_ending(self, position: int, told: Outcome, error: str | None) -> None:
        member, delivery_id = self.deliveries[position].member, self.deliveries[position].id
        outcome = told if self.crash is None else self.crash.ending(position, told)
        self.deliveries[position] = Delivery(member, delivery_id, outcome)
        self.tallies[member].outcomes[outcome] += 1
        if outcome is Outcome.FAILED:
            self.errors[str(error)] += 1
