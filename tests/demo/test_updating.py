from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from tests.demo.book import Book
from tests.demo.events import Delivered, FellAsleep, Settled
from tests.demo.fleet_status import FleetStatus, KproxyStatus
from tests.demo.killing import BREATH_SECONDS
from tests.demo.ledger import DeliveryId, Outcome, RecordId
from tests.demo.outage import OutageKind
from tests.demo.plan import GROUP, MEMBERS
from tests.demo.updating import (
    BACKLOG_SECONDS,
    LOOK_SECONDS,
    SENT_BEFORE_SECONDS,
    TAKEOVER_PATIENCE_SECONDS,
    WORK_PATIENCE_SECONDS,
    KillAndUpdate,
)

SECONDS_PER_RECORD: Final = 0.1
KILLED_AT: Final = 16.0 + BREATH_SECONDS
SLOT_COUNT: Final = 2
OF_THE_GROUP: Final = group_partition(GroupId(GROUP), SLOT_COUNT)
OTHER: Final = 1 - OF_THE_GROUP


@dataclass
class FleetInMemory:
    """Two kproxies and one slot each; the first one has that of the group, until told otherwise."""

    done: list[str] = field(default_factory=list)
    draining: set[str] = field(default_factory=set)
    status: FleetStatus = field(default_factory=lambda: a_status(0.0, first=[OF_THE_GROUP], second=[OTHER]))

    def kill(self, name: str) -> None:
        self.done.append(f"kill {name}")

    def ask_to_end(self, name: str) -> None:
        self.done.append(f"end {name}")
        self.draining.add(name)

    def has_ended(self, name: str) -> bool:
        return name not in self.draining

    def start_again(self, name: str) -> None:
        self.done.append(f"start {name}")


def a_status(at: float, *, first: Iterable[int], second: Iterable[int]) -> FleetStatus:
    kproxies = [
        KproxyStatus("kproxy 1", is_up=True, slots=frozenset(first)),
        KproxyStatus("kproxy 2", is_up=True, slots=frozenset(second)),
    ]
    return FleetStatus(at, SLOT_COUNT, kproxies)


class Scene:
    """A lock has run out at 16 s, and alice and bob get and accept records all the time."""

    def __init__(self) -> None:
        self.fleet = FleetInMemory()
        self.book = Book(MEMBERS)
        self.story = KillAndUpdate(self.fleet, SECONDS_PER_RECORD)
        self._offset = 100
        slept_on = RecordId(0, 0)
        self.book.note("carol", Delivered([DeliveryId(slept_on, 1)]), 1.0)
        self.book.note("carol", FellAsleep(18.0), 1.0)
        self.book.note("alice", Delivered([DeliveryId(slept_on, 2)]), 16.0)
        self.story.tend(self.book, 16.0)

    def alice_gets_a_record(self, now: float) -> DeliveryId:
        self._offset += 1
        delivery = DeliveryId(RecordId(1, self._offset), 1)
        self.book.note("alice", Delivered([delivery]), now)
        return delivery

    def alice_gets_and_accepts_a_record(self, now: float) -> None:
        delivery = self.alice_gets_a_record(now)
        self.book.note("alice", Settled(Outcome.ACCEPTED, [delivery], None), now)

    def tend(self, now: float) -> None:
        self.story.tend(self.book, now)

    def reach_the_kill(self) -> None:
        self.alice_gets_a_record(KILLED_AT)
        self.tend(KILLED_AT)

    def reach_the_takeover(self) -> float:
        """Kproxy 2 serves, and alice accepts what it delivers; when that is seen."""
        self.reach_the_kill()
        self.tend(KILLED_AT + SENT_BEFORE_SECONDS)
        self.fleet.status = a_status(23.0, first=[], second=[OF_THE_GROUP, OTHER])
        self.alice_gets_and_accepts_a_record(23.0)
        self.tend(23.0)
        return 23.0

    def reach_the_return(self) -> float:
        """Kproxy 1 was started again and has a slot."""
        started_at = self.reach_the_takeover() + LOOK_SECONDS
        self.tend(started_at)
        self.fleet.status = a_status(26.0, first=[OTHER], second=[OF_THE_GROUP])
        self.tend(26.0)
        return 26.0

    def reach_the_restart(self) -> float:
        at = self.reach_the_return() + BACKLOG_SECONDS
        self.alice_gets_a_record(at)
        self.tend(at)
        return at


def a_scene() -> Scene:
    return Scene()


def test_the_one_that_serves_the_group_is_killed() -> None:
    # Given
    scene = a_scene()

    # When
    scene.reach_the_kill()

    # Then
    assert scene.fleet.done == ["kill kproxy 1"]
    assert scene.book.outage is not None
    assert (scene.book.outage.kproxy, scene.book.outage.kind) == ("kproxy 1", OutageKind.KILL)


def test_it_stays_dead_until_another_one_is_seen_to_serve() -> None:
    # Given
    scene = a_scene()
    seen_at = scene.reach_the_takeover()
    done_before = list(scene.fleet.done)

    # When
    scene.tend(seen_at + LOOK_SECONDS)

    # Then
    assert done_before == ["kill kproxy 1"]
    assert scene.fleet.done == ["kill kproxy 1", "start kproxy 1"]
    assert scene.book.outages[0].successor == "kproxy 2"


def test_it_is_started_again_even_if_nobody_takes_over() -> None:
    # Given
    scene = a_scene()
    scene.reach_the_kill()
    scene.tend(KILLED_AT + SENT_BEFORE_SECONDS)
    scene.tend(KILLED_AT + TAKEOVER_PATIENCE_SECONDS)

    # When
    scene.tend(KILLED_AT + TAKEOVER_PATIENCE_SECONDS + LOOK_SECONDS)

    # Then
    assert scene.fleet.done == ["kill kproxy 1", "start kproxy 1"]
    assert scene.book.outages[0].successor is None


def test_it_is_back_when_it_has_its_share_of_the_slots() -> None:
    # Given
    scene = a_scene()
    scene.tend(scene.reach_the_takeover() + LOOK_SECONDS)
    was_back_before = scene.book.outages[0].back_at is not None

    # When
    scene.fleet.status = a_status(26.0, first=[OTHER], second=[OF_THE_GROUP])
    scene.tend(26.0)

    # Then
    assert not was_back_before
    assert scene.book.outages[0].back_at == 26.0


def test_what_was_seen_before_it_was_started_again_says_nothing_of_it() -> None:
    # Given
    scene = a_scene()
    started_at = scene.reach_the_takeover() + LOOK_SECONDS
    scene.tend(started_at)

    # When
    scene.fleet.status = a_status(started_at - 0.1, first=[OTHER], second=[OF_THE_GROUP])
    scene.tend(started_at + 0.1)

    # Then
    assert scene.book.outages[0].back_at is None


def test_then_the_one_that_serves_the_group_now_is_asked_to_end() -> None:
    # Given
    scene = a_scene()

    # When
    scene.reach_the_restart()

    # Then
    assert scene.fleet.done[-1] == "end kproxy 2"
    assert [outage.kind for outage in scene.book.outages] == [OutageKind.KILL, OutageKind.RESTART]


def test_the_restart_does_not_wait_for_work_for_long() -> None:
    # Given
    scene = a_scene()
    due_at = scene.reach_the_return() + BACKLOG_SECONDS + WORK_PATIENCE_SECONDS
    scene.tend(due_at - 0.1)
    done_before = scene.fleet.done[-1]

    # When
    scene.tend(due_at)

    # Then
    assert done_before == "start kproxy 1"
    assert scene.fleet.done[-1] == "end kproxy 2"


def test_it_is_started_again_when_it_has_ended_and_that_is_all() -> None:
    # Given
    scene = a_scene()
    at = scene.reach_the_restart()
    scene.tend(at + 0.1)
    done_while_it_drains = list(scene.fleet.done)
    scene.fleet.status = a_status(at + 0.2, first=[OF_THE_GROUP, OTHER], second=[])
    scene.tend(at + 0.2)
    scene.fleet.draining.clear()
    scene.tend(at + 0.3)

    # When
    scene.fleet.status = a_status(at + 2.0, first=[OF_THE_GROUP], second=[OTHER])
    scene.tend(at + 2.0)
    scene.tend(at + 2.1)

    # Then
    assert done_while_it_drains[-1] == "end kproxy 2"
    assert scene.fleet.done[-1] == "start kproxy 2"
    assert scene.book.outages[1].successor == "kproxy 1"
    assert scene.book.outages[1].back_at is not None
    assert not scene.story.is_at_work
