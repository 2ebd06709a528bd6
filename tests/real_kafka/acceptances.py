"""The accounts of a proof under load: what was produced, what members accepted, and what the state log says."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.net.deadlines import SystemWallClock
from kproxy.share.identifiers import SharePartitionKey
from tests.real_kafka import administration, log_reading
from tests.real_kafka.accepter import Accepter, Answer, RecordId
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.log_reading import PartitionLog
from tests.real_kafka.steady_production import SteadyProduction

SETTLING_SECONDS: Final = 200.0
CALM_SECONDS: Final = 3.0
WATCH_SECONDS: Final = 0.2
CLOCK_ERROR_SECONDS: Final = 0.1
"""By how much moments that two clocks tell may be apart: those of the log are whole milliseconds of another process."""
TOLD: Final = 20
"""How many of one kind are told at most."""


@dataclass(slots=True)
class Acceptances:
    """Members of one group at work on `topics`, while somebody produces."""

    cluster: KafkaCluster
    state_topic: str
    topics: list[str]
    accepters: list[Accepter]
    production: SteadyProduction

    def answers(self) -> list[Answer]:
        """What every member wrote down."""
        return [answer for accepter in self.accepters for answer in accepter.answers()]

    def tried(self) -> set[RecordId]:
        """What some member accepted, whatever it heard of that."""
        return set[RecordId]().union(*(accepter.tried.copy() for accepter in self.accepters))

    def errors(self) -> Counter[str]:
        """What members were told instead of success, by name."""
        return sum((accepter.errors for accepter in self.accepters), Counter[str]())

    def restarts(self) -> list[str]:
        """Why members had to be started anew."""
        return [reason for accepter in self.accepters for reason in accepter.restarts]

    def wait_for_answer(self, *, since: float, timeout_seconds: float) -> float:
        """Return when an acceptance was answered after `since`; how long after, in seconds."""
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            if later := [answer.at for answer in self.answers() if answer.at > since]:
                return min(later) - since
            time.sleep(WATCH_SECONDS)
        raise AssertionError(f"nothing was accepted for {timeout_seconds:.0f} s: {self.errors()}")

    def take_what_landed(self) -> set[RecordId]:
        """End the production, and take all that brokers have for produced; what its producer was not told of.

        That is more than it was told of where it cannot know: librdkafka gives a record up when no answer can be read
        (`_BAD_MSG`), and a broker that has forgotten the producer (`producer.id.expiration.ms`) writes a retry twice.
        Raises AssertionError when something is not there of which the producer was told.
        """
        self.production.stop()
        landed = {
            (topic, partition, offset)
            for topic, partition in self.production.partitions
            for offset in range(administration.end_offset(self.cluster.bootstrap_servers, topic, partition))
        }
        _require_none("acknowledged to their producer, and not there", self.production.produced - landed)
        untold = landed - self.production.produced
        self.production.produced |= landed
        return untold

    def wait_until_calm(self, *, log_keeps_all: bool = True) -> None:
        """End the production; return when every record was accepted and nothing was answered for a while.

        Accepted by the log's word, unless it may have lost some: what a member accepted may wait for a broker that does
        not answer, longer than for a while, and be refused after that.
        """
        self.production.stop()
        deadline = time.monotonic() + SETTLING_SECONDS
        count, since = -1, time.monotonic()
        while time.monotonic() < deadline:
            now = len(self.answers())
            if now != count:
                count, since = now, time.monotonic()
            elif time.monotonic() - since > CALM_SECONDS and self.production.produced <= self.tried():
                if not log_keeps_all or self.production.produced <= self._accepted().keys():
                    return
                since = time.monotonic()
            time.sleep(WATCH_SECONDS)

    def read_log(self) -> dict[int, PartitionLog]:
        """The state log as it stands in the cluster."""
        return asyncio.run(log_reading.read_topic(self.cluster, self.state_topic))

    def names_by_id(self) -> dict[bytes, str]:
        """The names of the topics, by their ids."""
        return asyncio.run(log_reading.names_of_topics(self.cluster, self.topics))

    def claimed_at(self, logs: Mapping[int, PartitionLog]) -> dict[int, list[float]]:
        """When each slot was claimed, by its number, in seconds of `time.monotonic`."""
        ahead = _wall_clock_ahead()
        return {
            slot: [moment / 1000 - ahead for moment in log_reading.claimed_at_ms(log)]
            for slot, log in logs.items()
        }

    def require_in_order(
        self, logs: Mapping[int, PartitionLog], *, may_be_answered_late: bool = False
    ) -> None:
        """Every record produced was accepted once, for good: by its member's word, and by the log's.

        Where answers may be later than a lock lasts, two members may be told so, of whom one has: see `answered_early`.
        """
        answers = self.answers()
        answered = Counter(answer.record for answer in answers)
        replayed = log_reading.replay(logs)
        places = _places(replayed.accepted, self.names_by_id())
        accepted = places.keys()
        _require_none("contradictions in the log", replayed.contradictions)
        passed_at = {
            record: passed_ms / 1000 - _wall_clock_ahead()
            for record, (key, offset) in places.items()
            if answered[record] > 1 and (passed_ms := replayed.passed_at_ms(key, offset)) is not None
        }
        early = answered_early(answers, passed_at if may_be_answered_late else {})
        _require_none("answered twice", early)
        _require_none("answered, and not in the log", answered.keys() - accepted)
        _require_none("in the log, and nobody accepted it", accepted - self.tried())
        _require_none("produced, and lost", self.production.produced - accepted)
        _require_none("accepted, and never produced", accepted - self.production.produced)
        assert self.restarts() == []

    def _accepted(self) -> dict[RecordId, tuple[SharePartitionKey, int]]:
        """What the log says now that was accepted, each with its place there."""
        return _places(log_reading.replay(self.read_log()).accepted, self.names_by_id())


def answered_early(answers: Iterable[Answer], passed_at: Mapping[RecordId, float]) -> set[RecordId]:
    """Return records of which more than one acceptance was answered although the start offset had not passed them.

    What lies below the start offset a broker passes over without an error, whoever names it: who acknowledges when its
    lock has ended, and the next holder has accepted, is told of none. `passed_at` says since when that is so of which
    record, in seconds of `time.monotonic`. A journal has an answer when its member told of it, or later.
    """
    early = Counter(
        answer.record
        for answer in answers
        if answer.at < passed_at.get(answer.record, math.inf) - CLOCK_ERROR_SECONDS
    )
    return {record for record, times in early.items() if times > 1}


def _wall_clock_ahead() -> float:
    """Return by how much the wall clock, which the log's times are of, is ahead of `time.monotonic`."""
    return SystemWallClock().now_ms() / 1000 - time.monotonic()


def _places(
    accepted: Mapping[SharePartitionKey, Iterable[int]], names: Mapping[bytes, str]
) -> dict[RecordId, tuple[SharePartitionKey, int]]:
    """Return all that was accepted of these topics, as members know it, each with its place in the log's words."""
    return {
        (names[bytes(key.topic_id)], key.partition, offset): (key, offset)
        for key, offsets in accepted.items()
        if bytes(key.topic_id) in names
        for offset in offsets
    }


def _require_none(what: str, found: Iterable[object]) -> None:
    """Raise AssertionError with what was found; of many things the first ones."""
    everything = sorted(map(str, found))
    assert not everything, f"{len(everything)} {what}: {everything[:TOLD]}"
