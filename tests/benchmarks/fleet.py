"""The benchmark of a fleet: what it costs that another process serves a group, and what a second process brings."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from tests.benchmarks import fleet_report
from tests.benchmarks.background import Watched
from tests.benchmarks.fleet_consumption import GROUPS, ONE, TWO_ANYWHERE, TWO_AT_OWNERS, ConsumeByGroups
from tests.benchmarks.fleet_frames import LOCAL, RELAYED, ShareFrames
from tests.benchmarks.machine import describe_machine
from tests.benchmarks.record_streams import fill_topic, new_topic
from tests.benchmarks.result_files import Result
from tests.benchmarks.share_members import consuming_members
from tests.benchmarks.share_setting import HASTY_SETTINGS, HEAP
from tests.benchmarks.share_soundness import Sound
from tests.benchmarks.steps import shown_steps
from tests.benchmarks.workload import Arm, Measurements, Rounds, Workload, measure_in_turn, step_count
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_fleet import KproxyFleet, kproxy_fleet

BATCH_BYTES: Final = 256 * 1024
"""Of the producer."""
SETTINGS: Final = {"kproxy.share.heartbeat.max.wait.ms": 0}
"""Heartbeats are answered at once, as a broker does, not when there is news."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured, and how often."""

    rounds: Rounds
    frames: Mapping[int, int]
    """How many single records by their size in bytes."""
    records: Mapping[int, int]
    """How many records of one size in bytes each group consumes."""


FULL: Final = Amounts(Rounds(7), {100: 1_000, 100_000: 300}, {1_000: 100_000})
QUICK: Final = Amounts(Rounds(1), {100: 200, 100_000: 50}, {1_000: 20_000})


def run(*, is_quick: bool) -> Result:
    """Measure everything: some six minutes, or a coarse one. Raises `KproxyBroke`, and what starting Kafka raises."""
    amounts = QUICK if is_quick else FULL
    measurements = Measurements()
    with ExitStack() as running:
        cluster = running.enter_context(
            KafkaCluster(heap=HEAP, jvm_options=(), broker_settings=dict(HASTY_SETTINGS))
        )
        one, two = (
            running.enter_context(kproxy_fleet(cluster, count, settings=SETTINGS)) for count in (1, 2)
        )
        _measure_frames(two, amounts, measurements)
        _measure_consumption(one, two, amounts, measurements)
    name = "fleet-quick" if is_quick else "fleet"
    return fleet_report.result(name, describe_machine(with_haproxy=False), measurements)


def _measure_frames(fleet: KproxyFleet, amounts: Amounts, measurements: Measurements) -> None:
    owner, other = fleet.kproxies
    arms = [Arm(LOCAL, owner.bootstrap_servers, None), Arm(RELAYED, other.bootstrap_servers, None)]
    workloads = [
        _sound(ShareFrames(fleet, record_bytes=record_bytes, count=count), [fleet], [os.getpid()])
        for record_bytes, count in amounts.frames.items()
    ]
    _measure(workloads, arms, amounts.rounds, measurements)


def _measure_consumption(
    one: KproxyFleet, two: KproxyFleet, amounts: Amounts, measurements: Measurements
) -> None:
    fleets = {ONE: one, TWO_AT_OWNERS: two, TWO_ANYWHERE: two}
    arms = [Arm(name, fleet.kproxies[0].bootstrap_servers, None) for name, fleet in fleets.items()]
    address = one.cluster.bootstrap_servers
    with ExitStack() as running:
        members = [running.enter_context(consuming_members(1)) for _ in range(GROUPS)]
        taking_part = [os.getpid(), *(pid for each in members for pid in each.process_ids)]
        workloads = []
        for record_bytes, count in amounts.records.items():
            topic = new_topic(address)
            fill_topic(address, topic, bytes(record_bytes), count, batch_bytes=BATCH_BYTES)
            workload = ConsumeByGroups(members, fleets, record_bytes=record_bytes, count=count, topic=topic)
            workloads.append(_sound(workload, [one, two], taking_part))
        _measure(workloads, arms, amounts.rounds, measurements)


def _measure(
    workloads: Sequence[Workload], arms: Sequence[Arm], rounds: Rounds, measurements: Measurements
) -> None:
    with shown_steps(step_count(workloads, arms, rounds)) as steps:
        for workload in workloads:
            measure_in_turn(workload, arms, rounds, steps, measurements)


def _sound(workload: Workload, fleets: Sequence[KproxyFleet], taking_part: Sequence[int]) -> Workload:
    """Let nothing count of a kproxy that broke, and tell what others did meanwhile."""
    kproxies = [kproxy for fleet in fleets for kproxy in fleet.kproxies]
    process_ids = [*taking_part, *(kproxy.process_id for kproxy in kproxies), *fleets[0].cluster.process_ids]
    sound: Workload = Watched(workload, process_ids)
    for kproxy in kproxies:
        sound = Sound(sound, kproxy)
    return sound
