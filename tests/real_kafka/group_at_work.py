"""Share group members of each client at work through one kproxy, in front of brokers to which something happens."""

import time
from collections.abc import Iterator, Mapping, Sequence
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

    def wait_until_each_partition_goes_on(self) -> None:
        """Return when a record of each partition was accepted that has been produced since."""
        servers = self.acceptances.cluster.bootstrap_servers
        first = {
            partition: administration.end_offset(servers, self.topic, partition)
            for partition in range(PARTITIONS)
        }
        deadline, accepted = time.monotonic() + TIMEOUT_SECONDS, dict[int, int]()
        while time.monotonic() < deadline:
            accepted = {
                partition: offset
                for _, partition, offset in sorted(answer.record for answer in self.acceptances.answers())
            }
            if all(accepted.get(partition, -1) >= first[partition] for partition in first):
                return
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"accepted up to {accepted}, not {first}: {self.acceptances.errors()}")


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
            SteadyProduction(through.bootstrap_servers, [(topic, number) for number in range(PARTITIONS)])
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
