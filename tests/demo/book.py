"""Keeps what the processes of the demo tell, as it comes in, with the counts that are shown meanwhile."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Final

from tests.demo.events import Delivered, Event, FellAsleep, Finished, Produced, Settled, Woke
from tests.demo.jobs import JobKind
from tests.demo.ledger import FINAL_OUTCOMES, Delivery, DeliveryId, Outcome, RecordId, Tally
from tests.demo.outage import THE_ONLY_ONE, Outage, OutageKind

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
        self.outages: list[Outage] = []
        """What is known of each kproxy that was killed or restarted, once that has come; the last one may go on."""
        self._last_accepted_at: float | None = None
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
        """How many records were cut off by an outage, and nobody has got since."""
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

    @property
    def outage(self) -> Outage | None:
        """The last one, which may be over."""
        return self.outages[-1] if self.outages else None

    def note_kill(self, now: float, kproxy: str = THE_ONLY_ONE) -> None:
        """Take down that a kproxy was killed: what members have in hand is in flight then."""
        self._note_outage(kproxy, OutageKind.KILL, now)

    def note_restart(self, now: float, kproxy: str) -> None:
        """Take down that a kproxy was asked to end: while it drains, it or another one goes on delivering."""
        self._note_outage(kproxy, OutageKind.RESTART, now).first_position_after = len(self.deliveries)

    def note_silence(self) -> None:
        """Take down that members have all that the killed kproxy had sent; nobody serves its groups yet."""
        self._last_outage().first_position_after = len(self.deliveries)

    def note_back(self, now: float) -> None:
        """Take down that it is over: what is delivered from now on is not in flight through the old process."""
        outage = self._last_outage()
        outage.back_at = now
        if outage.first_position_after is None:
            outage.first_position_after = len(self.deliveries)

    def _note_outage(self, kproxy: str, kind: OutageKind, now: float) -> Outage:
        in_hand = set(self._open.values())
        overtaken = frozenset(position for position in in_hand if self.is_overtaken(position))
        outage = Outage(kproxy, kind, now, in_hand - overtaken, overtaken, frozenset(self._settled))
        self.outages.append(outage)
        return outage

    def _last_outage(self) -> Outage:
        assert self.outages, "nobody was killed or restarted"
        return self.outages[-1]

    def _note_delivered(self, member: str, delivery_ids: Sequence[DeliveryId]) -> None:
        for delivery_id in delivery_ids:
            # The same delivery twice stays in the book twice: the rules will find the one nobody ended.
            position = len(self.deliveries)
            self._open[member, delivery_id] = position
            self.deliveries.append(Delivery(member, delivery_id, Outcome.HELD))
            self.tallies[member].note_delivery(is_first=self._is_first(delivery_id))
            self._latest[delivery_id.record] = position
            if self.outage is not None and self.outage.back_at is None:
                # What a dead kproxy had sent before.
                self.outage.in_flight.add(position)

    def _is_first(self, delivery_id: DeliveryId) -> bool:
        if delivery_id.delivery_count > 1:
            return False
        # The first two of one record can have the same count only if the first was in flight at an outage.
        latest = self._latest.get(delivery_id.record)
        return latest is None or not any(latest in outage.in_flight for outage in self.outages)

    def _note_settled(self, member: str, settled: Settled, now: float) -> None:
        outcome, delivery_ids, error = settled.outcome, settled.deliveries, settled.error
        for delivery_id in delivery_ids:
            position = self._open.pop((member, delivery_id))
            self._note_ending(position, outcome, error)
            if outcome is Outcome.ACCEPTED:
                for outage in self.outages:
                    outage.note_accepted(member, position, self._last_accepted_at, now)
                self._last_accepted_at = now
        if outcome in FINAL_OUTCOMES:
            self._settled.update(delivery_id.record for delivery_id in delivery_ids)
            self._recent.append((now, len(delivery_ids)))
        if outcome is Outcome.ACCEPTED and self.first_accepted_at is None:
            self.first_accepted_at = now

    def _note_ending(self, position: int, told: Outcome, error: str | None) -> None:
        member, delivery_id = self.deliveries[position].member, self.deliveries[position].id
        outcome = told
        for outage in self.outages:
            outcome = outage.ending(position, outcome)
        self.deliveries[position] = Delivery(member, delivery_id, outcome)
        self.tallies[member].outcomes[outcome] += 1
        if outcome is Outcome.FAILED:
            self.errors[str(error)] += 1
