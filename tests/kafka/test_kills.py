"""kproxy is killed again and again under load: what was answered stays answered, and nothing is lost."""

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import pytest

from tests.real_kafka import administration, log_reading
from tests.real_kafka.acceptances import Acceptances
from tests.real_kafka.accepter import QUICK_CLIENTS, Accepter
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import state_topic_settings
from tests.real_kafka.kproxy_with_failpoints import Failpoint
from tests.real_kafka.log_reading import PartitionLog, WrittenBatch
from tests.real_kafka.logged_errors import logged_errors
from tests.real_kafka.mortal_kproxy import NEVER, Death, MortalKproxy
from tests.real_kafka.session_clusters import QUICK_HEARTBEATS, ClusterOfSession
from tests.real_kafka.share_member import ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS
from tests.real_kafka.steady_production import SteadyProduction

KILLS_OF_A_SOAK: Final = 500
"""Of each client."""
MEMBERS: Final = 2
LIFE_SECONDS: Final = 60.0
"""Until a failpoint has to be reached, however slow the machine is: who reaches it earlier dies earlier."""

DURING_ACKNOWLEDGEMENTS: Final = tuple(
    Failpoint("acknowledge", moment, count)
    for count, moment in itertools.product((2, 3, 5), ("handed", "sent", "landed"))
)
BETWEEN_TOPICS: Final = (
    Failpoint("initializing", "landed"),
    Failpoint("initialize", "handed"),
    Failpoint("initialize", "landed"),
    Failpoint("initialized", "handed"),
)
"""After the first step of an initialization and before its last: groups topic, state topic, groups topic."""
WHILE_LOADING: Final = (Failpoint("claim", "landed"), Failpoint("load", "sent"))
FROM_OUTSIDE: Final = (NEVER, NEVER)

CYCLE: Final = (*DURING_ACKNOWLEDGEMENTS, *BETWEEN_TOPICS, *WHILE_LOADING, *FROM_OUTSIDE)
KILLS: Final = len(CYCLE)
"""Of each client, every day: one of each kind."""


@dataclass(frozen=True, slots=True)
class Client:
    """Whose members are under load."""

    kind: str
    """Of `MEMBER_KINDS`."""
    settings: Mapping[str, str]


CLIENTS: Final[Mapping[str, Client]] = {
    **{kind: Client(kind, settings) for kind, settings in QUICK_CLIENTS.items()},
    "confluent-without-rebootstrap": Client(
        "confluent", {**QUICK_CLIENTS["confluent"], "metadata.recovery.strategy": "none"}
    ),
}
"""librdkafka begins anew with its bootstrap servers (KIP-899) whenever no connection is left, and partitions lose
their leaders by that. A share consumer that is connected again looks for leaders, and fetches, when its timer of one
second ticks (`rd_kafka_1s_tmr_cb`, `rd_kafka_topic_scan_all`). Without that the figure is kproxy's."""


@dataclass(slots=True)
class Proof:
    """All that one run has left behind."""

    acceptances: Acceptances
    groups_topic: str
    deaths: list[Death] = field(default_factory=list)
    births: list[float] = field(default_factory=list)

    def seconds_to_first_acceptance(self) -> list[float]:
        """From the start of each later life to the first acceptance it answered, of the lives that answered one."""
        answered_at = sorted(answer.at for answer in self.acceptances.answers())
        ends = [death.died_at for death in self.deaths[1:]]
        firsts = [
            next((at for at in answered_at if born <= at <= died), None)
            for born, died in zip(self.births[1:], ends, strict=False)
        ]
        return [at - born for at, born in zip(firsts, self.births[1:], strict=False) if at is not None]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("client", ["confluent", pytest.param("java", marks=pytest.mark.soak)])
def test_what_was_accepted_stays_accepted_however_often_kproxy_is_killed(
    kafka_cluster: ClusterOfSession, tmp_path: Path, client: str
) -> None:
    _prove(kafka_cluster(), tmp_path, CLIENTS[client], KILLS)


@pytest.mark.soak
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS.keys())
def test_what_was_accepted_stays_accepted_after_hundreds_of_kills(
    kafka_cluster: ClusterOfSession, tmp_path: Path, client: Client
) -> None:
    _prove(kafka_cluster(), tmp_path, client, KILLS_OF_A_SOAK)


def _prove(cluster: KafkaCluster, folder: Path, client: Client, kills: int) -> None:
    # Given
    with _under_load(cluster, folder, client) as (kproxy, proof):
        # When
        for failpoint in itertools.islice(itertools.cycle(CYCLE), kills):
            _live_and_die(kproxy, proof, failpoint)

        # Then
        kproxy.begin_life()
        proof.acceptances.wait_until_calm()
    logs = proof.acceptances.read_log()
    groups = asyncio.run(log_reading.read_topic(cluster, proof.groups_topic))
    _report(client, proof, logs, groups)
    proof.acceptances.require_in_order(logs)
    _require_kills_in_many_places(proof, logs, groups)
    assert logged_errors(kproxy) == []


@contextmanager
def _under_load(cluster: KafkaCluster, folder: Path, client: Client) -> Iterator[tuple[MortalKproxy, Proof]]:
    settings = {**state_topic_settings(), **QUICK_HEARTBEATS}
    topics = [_new_topic(cluster, partitions=2) for _ in range(2)]
    group = unique_name("killed")
    with ExitStack() as stack:
        kproxy = stack.enter_context(MortalKproxy(cluster.bootstrap_servers, settings=settings))
        kproxy.begin_life()
        kproxy.wait_until_ready()
        administration.set_group_settings(
            kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"}
        )
        kproxy.end_life()
        production = SteadyProduction(
            cluster.bootstrap_servers, [(topic, partition) for topic in topics for partition in range(2)]
        )
        stack.enter_context(production)

        def start_member(subscribed: Sequence[str]) -> ShareMember:
            return MEMBER_KINDS[client.kind](
                kproxy.bootstrap_servers, group=group, topics=subscribed, settings=client.settings
            )

        accepters = [
            stack.enter_context(Accepter(start_member, topics, folder / f"journal-{number}"))
            for number in range(MEMBERS)
        ]
        yield (
            kproxy,
            Proof(
                Acceptances(cluster, str(settings["kproxy.state.topic.name"]), topics, accepters, production),
                str(settings["kproxy.groups.topic.name"]),
            ),
        )


def _new_topic(cluster: KafkaCluster, *, partitions: int = 1) -> str:
    return administration.create_topic(
        cluster.bootstrap_servers, unique_name("killed"), partitions=partitions
    )


def _live_and_die(kproxy: MortalKproxy, proof: Proof, failpoint: Failpoint) -> None:
    if failpoint in BETWEEN_TOPICS:
        # A topic that the group does not know yet has to be initialized, in three steps.
        acceptances = proof.acceptances
        topic = _new_topic(acceptances.cluster)
        acceptances.topics.append(topic)
        acceptances.production.add(topic)
        for accepter in acceptances.accepters:
            accepter.subscribe(acceptances.topics)
    proof.births.append(time.monotonic())
    kproxy.begin_life(failpoint)
    is_from_outside = failpoint == NEVER
    seconds = random.Random(len(proof.deaths)).uniform(0.5, 1.5) if is_from_outside else LIFE_SECONDS
    proof.deaths.append(kproxy.wait_for_death(timeout_seconds=seconds))


def _require_kills_in_many_places(
    proof: Proof, logs: dict[int, PartitionLog], groups: dict[int, PartitionLog]
) -> None:
    landed = _landed(proof, logs, groups)
    kills = len(proof.deaths)
    moments = Counter(death.moment for death in proof.deaths)
    assert sum(bool(death.in_flight) for death in proof.deaths) * 2 >= kills
    assert landed[True] * 5 >= kills, "some after the broker had the batch"
    assert landed[False] * 5 >= kills, "some before the broker had the batch"
    for failpoint in BETWEEN_TOPICS:
        assert moments[f"{failpoint.kind} {failpoint.moment}"] >= 1, moments


def _landed(proof: Proof, logs: dict[int, PartitionLog], groups: dict[int, PartitionLog]) -> Counter[bool]:
    """How many of the appends that were in flight at some death are in the log, and how many are not."""
    written = {
        (topic, partition, batch)
        for topic, of_topic in ((proof.acceptances.state_topic, logs), (proof.groups_topic, groups))
        for partition, log in of_topic.items()
        for batch in log.batches
    }
    return Counter(
        (
            append["topic"],
            append["partition"],
            WrittenBatch(append["producer_id"], append["producer_epoch"], append["base_sequence"]),
        )
        in written
        for death in proof.deaths
        for append in death.in_flight
    )


def _report(
    client: Client, proof: Proof, logs: dict[int, PartitionLog], groups: dict[int, PartitionLog]
) -> None:
    firsts = sorted(proof.seconds_to_first_acceptance())
    landed, acceptances = _landed(proof, logs, groups), proof.acceptances
    report = {
        "client": client.kind,
        "settings of the client": dict(client.settings),
        "kills": len(proof.deaths),
        "by moment": dict(Counter(death.moment for death in proof.deaths)),
        "with an append in flight": sum(bool(death.in_flight) for death in proof.deaths),
        "appends in flight that landed": landed[True],
        "appends in flight that did not": landed[False],
        "records produced": len(acceptances.production.produced),
        "acceptances answered": len(acceptances.answers()),
        "members started anew": len(acceptances.restarts()),
        "errors of members": dict(acceptances.errors()),
        "seconds from start to first acceptance, median": round(median(firsts), 2) if firsts else None,
        "seconds from start to first acceptance, longest": round(firsts[-1], 2) if firsts else None,
    }
    print(json.dumps(report, indent=2))
