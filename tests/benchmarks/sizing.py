"""The sizing benchmark: what records cost in state log, requests to the broker, processor time and memory of kproxy.

`deploy/SIZING.md` has its figures. Ratios and processor time, not rates: they hold on a machine that others use.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.benchmarks.background import Watched, noise_remark
from tests.benchmarks.comparison import Quantity, Spread
from tests.benchmarks.machine import describe_machine
from tests.benchmarks.result_files import Result
from tests.benchmarks.share_setting import HEAP, STATE_TOPIC_SETTINGS
from tests.benchmarks.share_soundness import Sound
from tests.benchmarks.sizing_acknowledgements import AcknowledgeRecords, Way, fill_with_batches_of_500
from tests.benchmarks.sizing_costs import (
    APPENDS,
    BROKER_CPU,
    KPROXY_CPU,
    LOG_BYTES,
    LOG_RECORDS,
    megabytes_a_day,
)
from tests.benchmarks.sizing_groups import (
    APPENDS_PER_SECOND,
    BROKER_CORES,
    KPROXY_CORES,
    LOG_A_DAY,
    MOST_MEMORY,
    PRODUCING_CORES,
    RECORDS_A_POLL,
    RECORDS_CONSUMED,
    SteadyGroups,
)
from tests.benchmarks.sizing_memory import (
    MEMBER_CONNECTIONS,
    MEMBER_CPU,
    MEMBER_MEMORY,
    PARTITION_CPU,
    PARTITION_MEMORY,
    IdleConsumers,
    IdleMembers,
    IdleSharePartitions,
    fresh_kproxy,
)
from tests.benchmarks.steps import shown_steps
from tests.benchmarks.tables import NOTHING, Table
from tests.benchmarks.workload import Arm, Measurements, Rounds, Workload, measure_in_turn, step_count
from tests.real_kafka import administration
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess

ARM: Final = "kproxy"
WAYS: Final = (
    Way("1 at a time, in order", 1),
    Way("10 at a time, in order", 10),
    Way("100 at a time, in order", 100),
    Way("500 at a time, in order", 500),
    Way("1 at a time, out of order", 1, is_in_order=False),
    Way("100 at a time, out of order", 100, is_in_order=False),
    Way("1 at a time, released once", 1, releases_first=True),
    Way("100 at a time, released once", 100, releases_first=True),
)
PATIENT: Final = {"fetch.wait.max.ms": "4000"}
"""Of share consumers that ask seldom while there is nothing."""
MANY: Final = 100
"""Records at a time, from which on there are more of them."""
RATE: Final = 1_000
"""Records a second, for which megabytes a day are told."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured, and how often."""

    acknowledging: Rounds
    others: Rounds
    records_one_by_one: int
    records_together: int
    """For ways that acknowledge many at a time."""
    seconds: float
    groups: Sequence[tuple[int, float]]
    """How many groups, and for how many seconds members rest between two polls."""
    members: int
    share_partitions: int


FULL: Final = Amounts(
    acknowledging=Rounds(2),
    others=Rounds(2, warm_ups=0),
    records_one_by_one=2_000,
    records_together=20_000,
    seconds=10.0,
    groups=((1, 0.0), (10, 0.0), (10, 0.1), (10, 0.5)),
    members=500,
    share_partitions=1_000,
)
QUICK: Final = Amounts(
    acknowledging=Rounds(1, warm_ups=0),
    others=Rounds(1, warm_ups=0),
    records_one_by_one=500,
    records_together=5_000,
    seconds=3.0,
    groups=((2, 0.0),),
    members=50,
    share_partitions=100,
)


def run(*, is_quick: bool) -> Result:
    """Measure everything: some seven minutes, or a coarse one. Raises `KproxyBroke`, and what starting Kafka raises."""
    amounts = QUICK if is_quick else FULL
    measurements = Measurements()
    with KafkaCluster(heap=HEAP, jvm_options=(), broker_settings=dict(STATE_TOPIC_SETTINGS)) as cluster:
        # First, with nobody else at the broker: a kproxy of its own each time.
        brokers = Arm(ARM, cluster.bootstrap_servers, None)
        _measure(_idle(cluster, amounts), brokers, amounts.others, measurements)
        with fresh_kproxy(cluster.bootstrap_servers) as kproxy:
            arm = Arm(ARM, kproxy.bootstrap_servers, kproxy.process_id)
            acknowledging = _watched(_acknowledging(cluster, kproxy, amounts), cluster, kproxy)
            _measure(acknowledging, arm, amounts.acknowledging, measurements)
            groups = _watched(_groups(cluster, kproxy, amounts), cluster, kproxy)
            _measure(groups, arm, amounts.others, measurements)
    name = "sizing-quick" if is_quick else "sizing"
    return Result(
        name=name,
        machine=describe_machine(with_haproxy=False),
        remarks=[noise_remark(measurements)],
        tables=_tables(measurements),
        values={"sizing": measurements.as_json()},
    )


def _measure(workloads: Sequence[Workload], arm: Arm, rounds: Rounds, measurements: Measurements) -> None:
    with shown_steps(step_count(workloads, [arm], rounds)) as steps:
        for workload in workloads:
            measure_in_turn(workload, [arm], rounds, steps, measurements)


def _watched(workloads: Iterable[Workload], cluster: KafkaCluster, kproxy: KproxyProcess) -> list[Workload]:
    taking_part = [os.getpid(), kproxy.process_id, *cluster.process_ids]
    return [Sound(Watched(workload, taking_part), kproxy) for workload in workloads]


def _idle(cluster: KafkaCluster, amounts: Amounts) -> list[Workload]:
    address, seconds = cluster.bootstrap_servers, amounts.seconds
    return [
        IdleMembers(amounts.members, groups=amounts.members // 10, seconds=seconds, broker_address=address),
        *(
            IdleConsumers(
                amounts.members // 10, groups=5, seconds=seconds, broker_address=address, settings=settings
            )
            for settings in ({}, PATIENT)
        ),
        IdleSharePartitions(amounts.share_partitions, seconds=seconds, broker_address=address),
    ]


def _groups(cluster: KafkaCluster, kproxy: KproxyProcess, amounts: Amounts) -> Iterator[Workload]:
    for groups, pause_seconds in amounts.groups:
        yield SteadyGroups(
            groups,
            pause_seconds=pause_seconds,
            seconds=amounts.seconds,
            broker_address=cluster.bootstrap_servers,
            kproxy=kproxy,
            broker=cluster.broker_process_id(1),
        )


def _acknowledging(cluster: KafkaCluster, kproxy: KproxyProcess, amounts: Amounts) -> Iterator[Workload]:
    address = cluster.bootstrap_servers
    for count in (amounts.records_one_by_one, amounts.records_together):
        topic = administration.create_topic(address, administration.unique_name("records"))
        fill_with_batches_of_500(address, topic, count)
        for way in WAYS:
            if (way.at_once < MANY) == (count == amounts.records_one_by_one):
                yield AcknowledgeRecords(
                    way,
                    topic=topic,
                    count=count,
                    address=kproxy.broker_addresses[1],
                    kproxy=kproxy,
                    broker=cluster.broker_process_id(1),
                )


def _tables(measured: Measurements) -> list[Table]:
    return [
        _by_way(measured),
        _table("Groups that consume 1,000 records of 1 kB a second each", measured, _OF_GROUPS),
        _table("Members and share-partitions that have nothing to consume", measured, _OF_IDLE),
    ]


_OF_GROUPS: Final = (
    RECORDS_CONSUMED,
    RECORDS_A_POLL,
    KPROXY_CORES,
    KPROXY_CPU,
    PRODUCING_CORES,
    BROKER_CORES,
    APPENDS_PER_SECOND,
    LOG_BYTES,
    LOG_A_DAY,
    MOST_MEMORY,
)
_OF_IDLE: Final = (MEMBER_MEMORY, MEMBER_CPU, MEMBER_CONNECTIONS, PARTITION_MEMORY, PARTITION_CPU)
_OF_WAYS: Final = (LOG_BYTES, LOG_RECORDS, APPENDS, KPROXY_CPU, BROKER_CPU)


def _by_way(measured: Measurements) -> Table:
    heads = ["", f"MB a day at {RATE:,} records/s", *(_title(each) for each in _OF_WAYS)]
    rows = []
    for way in WAYS:
        bytes_a_record = measured.series(way.name, LOG_BYTES).spread(ARM).median
        cells = [_cell(measured, way.name, quantity) for quantity in _OF_WAYS]
        rows.append([way.name, f"{megabytes_a_day(bytes_a_record, RATE):,.0f}", *cells])
    return Table("One member, by how it acknowledges", heads, rows)


def _table(title: str, measured: Measurements, quantities: Sequence[Quantity]) -> Table:
    """Workloads side by side, a row for each quantity."""
    ways = {way.name for way in WAYS}
    found = [name for each in quantities for name, _ in measured.of_quantity(each)]
    names = [name for name in dict.fromkeys(found) if name not in ways]
    rows = [[_title(each), *(_cell(measured, name, each) for name in names)] for each in quantities]
    return Table(title, ["", *names], rows)


def _title(quantity: Quantity) -> str:
    return f"{quantity.title}, {quantity.unit}" if quantity.unit else quantity.title


def _cell(measured: Measurements, name: str, quantity: Quantity) -> str:
    if (name, quantity) not in measured:
        return NOTHING
    spread: Spread = measured.series(name, quantity).spread(ARM)
    written = quantity.written
    if spread.lowest == spread.highest:
        return written(spread.median)
    return f"{written(spread.median)} [{written(spread.lowest)}, {written(spread.highest)}]"
