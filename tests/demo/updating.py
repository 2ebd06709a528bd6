"""One of several kproxies is killed and comes back, and then one is restarted in order, as an update would.

Both times it is the one that serves the group, so that the group has to move.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from tests.demo.book import Book
from tests.demo.fleet_status import FleetStatus
from tests.demo.killing import FreshWork, KillMoment
from tests.demo.plan import GROUP

SENT_BEFORE_SECONDS: Final = 2.0
"""What a killed kproxy had sent is with its members by then; nobody may serve its slots so soon, because its session
in the fleet lasts 6 s after its last heartbeat."""
LOOK_SECONDS: Final = 1.0
"""So long another one is seen to serve before the next thing happens."""
BACKLOG_SECONDS: Final = 2.0
"""After so long members have worked off what came while nobody served: an update is done in quiet times."""
WORK_PATIENCE_SECONDS: Final = 2.0
"""After so much longer nothing is waited for: what is held back for the update comes when it has begun."""
TAKEOVER_PATIENCE_SECONDS: Final = 15.0
"""After that the killed one is started again even if nobody has taken over: the closing rules say what is wrong."""


class Fleet(Protocol):
    """Several kproxies, by name: `KproxyFleet`."""

    @property
    def status(self) -> FleetStatus:
        """What was seen of them a moment ago."""

    def kill(self, name: str) -> None:
        """Return when one is dead."""

    def ask_to_end(self, name: str) -> None:
        """Let one drain and end; returns at once."""

    def has_ended(self, name: str) -> bool:
        """Whether one that was asked to end has done so."""

    def start_again(self, name: str) -> None:
        """Start one that has ended or is dead."""


class KillAndUpdate:
    """Goes through it step by step, each as soon as its moment has come."""

    def __init__(self, fleet: Fleet, seconds_per_record: float) -> None:
        """`seconds_per_record` is how long a member works on a record."""
        self._fleet = fleet
        self._kill_moment = KillMoment(seconds_per_record)
        self._fresh_work = FreshWork(seconds_per_record)
        self._book = Book(())
        self._now = 0.0
        self._steps = self._all_steps()
        self.is_at_work = True
        """Whether there is more to come."""

    def tend(self, book: Book, now: float) -> None:
        """Do what is due now. To be called after each look at the news."""
        self._book, self._now = book, now
        if self.is_at_work:
            self.is_at_work = next(self._steps, None) is not None

    def _all_steps(self) -> Iterator[str]:
        """Yield as long as something has to be waited for, with what that is."""
        while (victim := self._fleet.status.server_of(GROUP)) is None or not self._is_time_to_kill():
            yield "the moment of the kill"
        yield from self._kill(victim)
        yield from self._wait_until_whole(victim)
        while (server := self._fleet.status.server_of(GROUP)) is None or not self._is_time_to_restart():
            yield "the moment of the restart"
        yield from self._restart(server)
        yield from self._wait_until_whole(server)

    def _kill(self, victim: str) -> Iterator[str]:
        self._fleet.kill(victim)
        self._book.note_kill(self._now, victim)
        killed_at = self._now
        while self._now < killed_at + SENT_BEFORE_SECONDS:
            yield "what the dead one had sent"
        self._book.note_silence()
        while not self._has_successor(victim) and self._now < killed_at + TAKEOVER_PATIENCE_SECONDS:
            yield "another one that takes over"
        seen_at = self._now
        while self._now < seen_at + LOOK_SECONDS:
            yield "a look at it"
        self._start_again(victim)

    def _restart(self, server: str) -> Iterator[str]:
        self._fleet.ask_to_end(server)
        self._book.note_restart(self._now, server)
        while not self._fleet.has_ended(server):
            self._has_successor(server)
            yield "the end of the old process"
        self._start_again(server)

    def _start_again(self, name: str) -> None:
        self._fleet.start_again(name)
        assert self._book.outage is not None
        self._book.outage.started_again_at = self._now

    def _wait_until_whole(self, name: str) -> Iterator[str]:
        started_at = self._now
        while not (self._fleet.status.is_whole and self._fleet.status.at > started_at):
            self._has_successor(name)
            yield "its share of the slots"
        self._book.note_back(self._now)

    def _has_successor(self, name: str) -> bool:
        """Whether another one serves the group, and members were heard to accept what it delivered."""
        outage, server = self._book.outage, self._fleet.status.server_of(GROUP)
        assert outage is not None
        if outage.successor is None and server not in {None, name}:
            outage.successor = server
        return outage.successor is not None and outage.first_accepted_at is not None

    def _is_time_to_kill(self) -> bool:
        return self._kill_moment.has_come(self._book, self._now)

    def _is_time_to_restart(self) -> bool:
        outage = self._book.outage
        assert outage is not None
        assert outage.back_at is not None
        quiet_seconds = self._now - outage.back_at - BACKLOG_SECONDS
        has_fresh_work = self._fresh_work.is_there(self._book)
        return quiet_seconds >= 0 and (has_fresh_work or quiet_seconds >= WORK_PATIENCE_SECONDS)
