"""Whether the backing cluster answers, seen also when nobody asks it for anything."""

import logging

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.cluster.contact_watch import SILENCE_MS, ContactWatch
from kproxy.net.cluster.view import TopicIdsMissing
from tests.event_loops import run
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.state_logs import alarms

REFUSED = BrokerFailure("connect", "127.0.0.1:9092: connection refused")


class Cluster:
    """A cluster that answers, or does not; notes what it was asked."""

    def __init__(self) -> None:
        self.clock = ManualClock(100_000)
        self.failure: BrokerUnavailable | None = None
        self.asked: list[str] = []
        self.last_failure: BrokerUnavailable | None = None
        self.contacted_ms: int | None = 100_000
        self.changes = 0
        self.watch = ContactWatch(self, on_change=self._changed)

    @property
    def contact_age_ms(self) -> int | None:
        return None if self.contacted_ms is None else self.clock.now_ms() - self.contacted_ms

    async def ask_for_brokers(self) -> None:
        self._ask("brokers")

    async def refresh(self) -> None:
        self._ask("refresh")

    def _ask(self, question: str) -> None:
        self.asked.append(question)
        self.last_failure = self.failure
        if self.failure is not None:
            raise self.failure
        self.contacted_ms = self.clock.now_ms()

    def _changed(self) -> None:
        self.changes += 1

    def looked_at(self, *, after_ms: int) -> "Cluster":
        """Let time pass, and look."""
        self.clock.advance(after_ms)
        run(self.watch.look())
        return self


def test_a_cluster_that_nobody_asks_is_asked_for_its_brokers_and_no_more() -> None:
    # When
    cluster = Cluster().looked_at(after_ms=2_000).looked_at(after_ms=2_000)

    # Then
    assert (cluster.asked, cluster.watch.problem, cluster.changes) == (["brokers", "brokers"], "", 0)


def test_a_cluster_that_was_heard_of_a_moment_ago_is_left_alone() -> None:
    # When
    cluster = Cluster().looked_at(after_ms=1_999)

    # Then
    assert cluster.asked == []


def test_a_cluster_of_which_nobody_answers_is_a_problem_at_once_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    cluster = Cluster()
    cluster.failure = REFUSED

    # When
    cluster.looked_at(after_ms=2_000).looked_at(after_ms=2_000)

    # Then
    assert "last reached 4000 ms ago" in cluster.watch.problem
    assert "connection refused" in cluster.watch.problem
    assert cluster.changes == 1
    assert [(line.msg, line.levelno) for line in alarms(caplog)] == [("backing_cluster_lost", logging.ERROR)]


def test_a_cluster_without_topic_ids_is_reached() -> None:
    """Plain traffic is not concerned, and share groups say so themselves."""
    # Given
    cluster = Cluster()
    cluster.last_failure = TopicIdsMissing("topic 'orders' has no id")

    # When
    cluster.looked_at(after_ms=1_000)

    # Then
    assert (cluster.watch.problem, cluster.changes) == ("", 0)


def test_a_cluster_that_only_hangs_is_a_problem_after_some_seconds() -> None:
    # Given
    cluster = Cluster()
    cluster.clock.advance(SILENCE_MS - 1)
    before = cluster.watch.problem

    # When
    cluster.clock.advance(1)

    # Then
    assert before == ""
    assert "it does not answer" in cluster.watch.problem


def test_a_cluster_that_is_back_is_asked_for_everything_and_is_no_problem_any_more() -> None:
    # Given
    cluster = Cluster()
    cluster.failure = REFUSED
    cluster.looked_at(after_ms=2_000)
    cluster.failure = None

    # When
    cluster.looked_at(after_ms=2_000)

    # Then
    assert (cluster.asked, cluster.watch.problem, cluster.changes) == (["brokers", "refresh"], "", 2)


def test_a_cluster_that_was_never_met_is_left_to_those_who_look_for_it() -> None:
    # Given
    cluster = Cluster()
    cluster.contacted_ms = None

    # When
    cluster.looked_at(after_ms=60_000)

    # Then
    assert (cluster.asked, cluster.watch.problem) == ([], "")
