"""The relay benchmark: what it costs that kproxy stands between clients and a broker, haproxy being the measure."""

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.benchmarks import relay_report
from tests.benchmarks.background import Watched
from tests.benchmarks.connection_memory import IdleConnections, Streams, UnreadStreams, fetch_frame
from tests.benchmarks.machine import describe_machine
from tests.benchmarks.placement import Cores, pinned_cores, shared_cores
from tests.benchmarks.record_streams import ConsumeRecords, ProduceRecords
from tests.benchmarks.relay_setting import RelaySetting, relay_setting
from tests.benchmarks.result_files import Result
from tests.benchmarks.small_requests import OneAtATime, Pipelined, list_offsets_frame, metadata_frame
from tests.benchmarks.steps import shown_steps
from tests.benchmarks.workload import Arm, Measurements, Rounds, Workload, measure_in_turn

OPEN_FILES: Final = 8_192
"""A thousand connections are two thousand sockets of a relay."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured, and how often."""

    rounds: Rounds
    memory_rounds: Rounds
    large_records: int
    small_records: int
    requests_one_at_a_time: int
    requests_pipelined: int
    stream_seconds: float


FULL: Final = Amounts(Rounds(5), Rounds(5, 0), 300_000, 600_000, 3_000, 30_000, 1.0)
QUICK: Final = Amounts(Rounds(2), Rounds(1, 0), 100_000, 300_000, 500, 5_000, 1.0)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Workloads that are measured at one placement, in the same arms."""

    workloads: Sequence[Workload]
    arms: Sequence[Arm]
    rounds: Rounds
    cores: Cores
    measurements: Measurements

    @property
    def step_count(self) -> int:
        return len(self.workloads) * len(self.arms) * self.rounds.total


def run(*, is_quick: bool) -> Result:
    """Measure everything: some five minutes, or a coarse one. Raises `TooFewCores`, and what starting Kafka raises."""
    _allow_open_files()
    available = os.sched_getaffinity(0)
    pinned, shared = pinned_cores(available), shared_cores(available)
    with relay_setting() as setting:
        amounts = QUICK if is_quick else FULL
        stages = _stages(setting, amounts, pinned, shared)
        _measure(setting, stages)
    alone, memory, together = (stage.measurements for stage in stages)
    name = "relay-quick" if is_quick else "relay"
    return relay_report.result(name, describe_machine(), alone=alone, memory=memory, together=together)


def _stages(setting: RelaySetting, amounts: Amounts, pinned: Cores, shared: Cores) -> list[_Stage]:
    address, processes = setting.direct_address, setting.process_ids
    produce = ProduceRecords(address, record_bytes=1_000, count=amounts.large_records)
    consume = ConsumeRecords(address, record_bytes=1_000, count=amounts.large_records)
    small_records: list[Workload] = [
        ProduceRecords(address, record_bytes=100, count=amounts.small_records),
        ConsumeRecords(address, record_bytes=100, count=amounts.small_records),
    ]
    alone: list[Workload] = [produce, consume, *small_records, *_requests(consume.topic, amounts)]
    memory = _connections(setting, consume.topic, amounts)
    return [
        _Stage(_watched(alone, processes), setting.arms, amounts.rounds, pinned, Measurements()),
        _Stage(memory, setting.relay_arms, amounts.memory_rounds, pinned, Measurements()),
        _Stage(_watched([produce, consume], processes), setting.arms, amounts.rounds, shared, Measurements()),
    ]


def _requests(topic: str, amounts: Amounts) -> list[Workload]:
    frames = {"ListOffsets": list_offsets_frame(topic), "Metadata": metadata_frame(topic)}
    return [
        workload
        for label, frame in frames.items()
        for workload in (
            OneAtATime(label, frame, count=amounts.requests_one_at_a_time),
            Pipelined(label, frame, count=amounts.requests_pipelined),
        )
    ]


def _connections(setting: RelaySetting, topic: str, amounts: Amounts) -> list[Workload]:
    frame = fetch_frame(setting.direct_address, topic)
    return [
        IdleConnections(setting.fresh_relays),
        Streams(setting.fresh_relays, frame, seconds=amounts.stream_seconds),
        UnreadStreams(setting.fresh_relays, frame, seconds=amounts.stream_seconds),
    ]


def _watched(workloads: Sequence[Workload], process_ids: Sequence[int]) -> list[Workload]:
    return [Watched(workload, process_ids) for workload in workloads]


def _measure(setting: RelaySetting, stages: Sequence[_Stage]) -> None:
    with shown_steps(sum(stage.step_count for stage in stages)) as steps:
        for stage in stages:
            setting.place(stage.cores)
            for workload in stage.workloads:
                measure_in_turn(workload, stage.arms, stage.rounds, steps, stage.measurements)


def _allow_open_files() -> None:
    """Let this process, and those that it starts, have the sockets they need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, hard), hard))
