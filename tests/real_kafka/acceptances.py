"""The accounts of a proof under load: what was produced, what members accepted, and what the state log says."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.real_kafka import log_reading
from tests.real_kafka.accepter import Accepter, Answer, RecordId
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.log_reading import PartitionLog
from tests.real_kafka.steady_production import SteadyProduction

SETTLING_SECONDS: Final = 200.0
CALM_SECONDS: Final = 3.0
WATCH_SECONDS: Final = 0.2
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

    def wait_until_calm(self) -> None:
        """End the production; return when every record was accepted and nothing was answered for a while."""
        self.production.stop()
        deadline = time.monotonic() + SETTLING_SECONDS
        count, since = -1, time.monotonic()
        while time.monotonic() < deadline:
            now = len(self.answers())
            if now != count:
                count, since = now, time.monotonic()
            elif time.monotonic() - since > CALM_SECONDS and self.production.produced <= self.tried():
                return
            time.sleep(WATCH_SECONDS)

    def read_log(self) -> dict[int, PartitionLog]:
        """The state log as it stands in the cluster."""
        return asyncio.run(log_reading.read_topic(self.cluster, self.state_topic))

    def require_in_order(
        self, logs: Mapping[int, PartitionLog], *, may_be_answered_late: bool = False
    ) -> None:
        """Every record produced was accepted once, for good: by its member's word, and by the log's.

        Where answers may be later than a lock lasts, two members may be told so, of whom one has.
        """
        answered = Counter(answer.record for answer in self.answers())
        replayed = log_reading.replay(logs)
        names = asyncio.run(log_reading.names_of_topics(self.cluster, self.topics))
        accepted = {
            (names[bytes(key.topic_id)], key.partition, offset)
            for key, offsets in replayed.accepted.items()
            for offset in offsets
        }
        _require_none("contradictions in the log", replayed.contradictions)
        if not may_be_answered_late:
            _require_none("answered twice", [record for record, times in answered.items() if times > 1])
        _require_none("answered, and not in the log", answered.keys() - accepted)
        _require_none("in the log, and nobody accepted it", accepted - self.tried())
        _require_none("lost, or never produced", self.production.produced ^ accepted)
        assert self.restarts() == []


def _require_none(what: str, found: Iterable[object]) -> None:
    """Raise AssertionError with what was found; of many things the first ones."""
    everything = sorted(map(str, found))
    assert not everything, f"{len(everything)} {what}: {everything[:TOLD]}"
