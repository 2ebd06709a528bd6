"""Share group members of each client at work through one kproxy, in front of brokers to which something happens."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real_kafka import administration
from tests.real_kafka.acceptances import Acceptances
from tests.real_kafka.accepter import QUICK_CLIENTS, Accepter, StartMember
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS, SHORT_LOCKS
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.steady_production import SteadyProduction

TIMEOUT_SECONDS: Final = 60.0
PARTITIONS: Final = 3
LOCK_MS: Final = 5_000
POLL_SECONDS: Final = 0.1


@dataclass(slots=True)
class GroupAtWork:
    """One group on one topic, in which nobody but a fault keeps records from being accepted."""

    kproxy: KproxyProcess
    acceptances: Acceptances
    topic: str
    state_topics: tuple[str, str]
    """Of share-partitions, and of groups."""

    def wait_for_answer(self, *, since: float) -> float:
        """Return when an acceptance was answered after `since`; how long after, in seconds."""
        return self.acceptances.wait_for_answer(since=since, timeout_seconds=TIMEOUT_SECONDS)

    def wait_until_each_partition_goes_on(self, *, since: float) -> None:
        """Return when a record of each partition of the topic was accepted after `since`."""
        deadline, going = time.monotonic() + TIMEOUT_SECONDS, set[int]()
        while time.monotonic() < deadline:
            going = {answer.record[1] for answer in self.acceptances.answers() if answer.at > since}
            if len(going) == PARTITIONS:
                return
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"only partitions {going} go on: {self.acceptances.errors()}")

    def accepted_up_to(self) -> dict[int, int]:
        """The highest offset of each partition of the topic whose acceptance was answered."""
        return {record[1]: record[2] for record in sorted(each.record for each in self.acceptances.answers())}

    def summary(self, befallen: str) -> dict[str, object]:
        """What came of it, for people."""
        metrics = self.kproxy.metrics()
        return {
            "befallen": befallen,
            "records produced": len(self.acceptances.production.produced),
            "acceptances answered": len(self.acceptances.answers()),
            "slots rebuilt": metrics.total("kproxy_statelog_rebuilds_total"),
            "truncations": metrics.total("kproxy_statelog_truncations_total"),
            "errors of members": dict(self.acceptances.errors()),
        }

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Return when `is_so`, which is asked again and again."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, f"waited in vain: {self.acceptances.errors()}"
            time.sleep(POLL_SECONDS)


@contextmanager
def group_at_work(
    cluster: KafkaCluster,
    journals: Path,
    *,
    settings: Mapping[str, str | int],
    topic_settings: Mapping[str, str] | None = None,
    replicas: int = 3,
    clients: Sequence[str] = tuple(MEMBER_KINDS),
    produces_through_kproxy: bool = False,
    is_idempotent: bool = True,
) -> Iterator[GroupAtWork]:
    """Start a kproxy with `settings`, one member of each of `clients`, and a producer; all end with the block.

    Every partition of the topic has a leader and records; acceptances are being answered when this returns.
    """
    chosen = {**state_topic_settings(), **QUICK_HEARTBEATS, **SHORT_LOCKS, **settings}
    topic, group = unique_name("at-work"), unique_name("at-work")
    administration.create_topic(
        cluster.bootstrap_servers,
        topic,
        partitions=PARTITIONS,
        replicas=replicas,
        topic_settings=topic_settings,
    )
    with ExitStack() as stack:
        kproxy = stack.enter_context(
            KproxyProcess(cluster.bootstrap_servers, node_ids=cluster.node_ids, settings=chosen)
        )
        kproxy.wait_until_ready()
        administration.set_group_settings(
            kproxy.bootstrap_servers,
            group,
            {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(LOCK_MS)},
        )
        through = kproxy if produces_through_kproxy else cluster
        production = stack.enter_context(
            SteadyProduction(
                through.bootstrap_servers,
                [(topic, number) for number in range(PARTITIONS)],
                settings={"enable.idempotence": str(is_idempotent).lower()},
            )
        )
        accepters = [
            stack.enter_context(Accepter(_starter(kproxy, client, group), [topic], journals / client))
            for client in clients
        ]
        state_topic = str(chosen["kproxy.state.topic.name"])
        acceptances = Acceptances(cluster, state_topic, [topic], accepters, production)
        acceptances.wait_for_answer(since=0.0, timeout_seconds=TIMEOUT_SECONDS)
        yield GroupAtWork(kproxy, acceptances, topic, (state_topic, str(chosen["kproxy.groups.topic.name"])))


def _starter(kproxy: KproxyProcess, client: str, group: str) -> StartMember:
    return lambda topics: MEMBER_KINDS[client](
        kproxy.bootstrap_servers, group=group, topics=topics, settings=QUICK_CLIENTS[client]
    )
