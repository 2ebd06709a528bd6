"""Share groups at work through a fleet: each with a topic of its own, and with members behind several kproxies."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from tests.misfortunes.fleet import SLOT_COUNT, STATE_TOPIC, Fleet
from tests.misfortunes.hosted_kproxy import HostedKproxy
from tests.real_kafka import administration
from tests.real_kafka.acceptances import Acceptances
from tests.real_kafka.accepter import QUICK_CLIENTS, Accepter
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.share_member import ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.steady_production import RECORDS_AT_ONCE, SteadyProduction

PARTITIONS: Final = 2
PATIENT_ERRORS: Final = 1_000
"""No member is given up before its kproxy, or the way to it, is back."""
LOCK_SECONDS: Final = 15
"""Of records; the least that is allowed by default."""
GROUP_SETTINGS: Final = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": str(LOCK_SECONDS * 1000),
}
WATCH_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class GroupAtWork:
    """One share group. `accepters` are its members, by the number of the kproxy that each is connected to."""

    name: str
    topic: str
    slot: int
    accepters: Mapping[int, Accepter]

    def answered_at(self) -> list[float]:
        """When acceptances were answered so far, in order."""
        return sorted(at for accepter in self.accepters.values() for at in accepter.answered_at.copy())

    def has_answered_since(self, moment: float) -> bool:
        """Whether an acceptance was answered after `moment`."""
        return any(accepter.answered_at[-1:] > [moment] for accepter in self.accepters.values())


@dataclass(slots=True)
class Load:
    """All that goes on while misfortunes happen."""

    acceptances: Acceptances
    groups: list[GroupAtWork] = field(default_factory=list)

    def wait_for_answers(self, *, since: float, timeout_seconds: float) -> None:
        """Return when each group had an acceptance answered after `since`; raises AssertionError."""
        deadline = time.monotonic() + timeout_seconds
        while waiting := [group.name for group in self.groups if not group.has_answered_since(since)]:
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"nothing of {waiting} was accepted for {timeout_seconds:.0f} s: {self.acceptances.errors()}"
                )
            time.sleep(WATCH_SECONDS)


@contextmanager
def under_load(
    fleet: Fleet, folder: Path, *, groups: int, kinds: Sequence[str], records_at_once: int = RECORDS_AT_ONCE
) -> Iterator[Load]:
    """Yield groups at work, each with a member behind every kproxy; `kinds` of members take turns.

    Each group lives in another slot. The fewer records come at once, the more often each group has some to accept:
    as many are produced in all (`SteadyProduction`).
    """
    cluster, kproxies = fleet.cluster, fleet.kproxies
    names = _names_in_different_slots(groups)
    topics = {name: _new_topic(cluster) for name in names}
    partitions = [(topic, number) for number in range(PARTITIONS) for topic in topics.values()]
    with ExitStack() as stack:
        production = SteadyProduction(
            cluster.bootstrap_servers, partitions, in_turn=True, records_at_once=records_at_once
        )
        stack.enter_context(production)
        load = Load(Acceptances(cluster, STATE_TOPIC, list(topics.values()), [], production))
        for number, (name, topic) in enumerate(topics.items()):
            slot = group_partition(GroupId(name), SLOT_COUNT)
            owner = kproxies[fleet.owners()[slot]]
            administration.set_group_settings(owner.bootstrap_servers, name, GROUP_SETTINGS)
            accepters = {
                kproxy.number: stack.enter_context(
                    _accepter(kproxy, kinds[(number + kproxy.number) % len(kinds)], name, topic, folder)
                )
                for kproxy in kproxies
            }
            load.acceptances.accepters.extend(accepters.values())
            load.groups.append(GroupAtWork(name, topic, slot, accepters))
        yield load


def _accepter(kproxy: HostedKproxy, kind: str, group: str, topic: str, folder: Path) -> Accepter:
    def start(topics: Sequence[str]) -> ShareMember:
        return MEMBER_KINDS[kind](
            kproxy.bootstrap_servers, group=group, topics=topics, settings=QUICK_CLIENTS[kind]
        )

    journal = folder / f"{group}-{kproxy.number}"
    return Accepter(start, [topic], journal, errors_in_a_row=PATIENT_ERRORS)


def _names_in_different_slots(count: int) -> list[str]:
    names: dict[int, str] = {}
    while len(names) < count:
        name = unique_name("unlucky")
        names.setdefault(group_partition(GroupId(name), SLOT_COUNT), name)
    return list(names.values())


def _new_topic(cluster: KafkaCluster) -> str:
    return administration.create_topic(
        cluster.bootstrap_servers,
        unique_name("unlucky"),
        partitions=PARTITIONS,
        replicas=len(cluster.node_ids),
        topic_settings={"min.insync.replicas": str(min(2, len(cluster.node_ids)))},
    )
