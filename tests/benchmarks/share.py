"""The share benchmark: share groups of kproxy against those of the broker itself."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from tests.benchmarks import share_report
from tests.benchmarks.background import Watched
from tests.benchmarks.machine import describe_machine
from tests.benchmarks.record_streams import fill_topic, new_topic
from tests.benchmarks.result_files import Result
from tests.benchmarks.share_cold_start import StartTogether
from tests.benchmarks.share_consumption import ConsumeTogether
from tests.benchmarks.share_latency import OneRecordAtATime
from tests.benchmarks.share_members import ConsumingMembers, consuming_members
from tests.benchmarks.share_setting import (
    HASTY_SETTINGS,
    STATE_TOPIC_SETTINGS,
    ShareSetting,
    share_setting,
)
from tests.benchmarks.share_soundness import Sound
from tests.benchmarks.steps import shown_steps
from tests.benchmarks.workload import Measurements, Rounds, Workload, measure_in_turn, step_count

MEMBER_COUNTS: Final = (1, 8)
BATCH_BYTES: Final = 256 * 1024
"""Of the producer."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured, and how often."""

    rounds: Rounds
    records: Mapping[int, int]
    """How many records by their size in bytes."""
    records_one_at_a_time: int
    cold_records: Mapping[int, int]
    """How many records by their size in bytes, for members that start together."""


FULL: Final = Amounts(
    Rounds(5), {100: 600_000, 1_000: 300_000, 10_000: 40_000}, 1_000, {1_000: 300_000, 10_000: 40_000}
)
QUICK: Final = Amounts(Rounds(1), {100: 200_000, 1_000: 100_000, 10_000: 15_000}, 200, {10_000: 40_000})


def run(*, is_quick: bool) -> Result:
    """Measure everything: some eight minutes, or a coarse one. Raises `KproxyBroke`, and what starting Kafka raises."""
    amounts = QUICK if is_quick else FULL
    measurements = Measurements()
    with ExitStack() as running:
        setting = running.enter_context(share_setting(HASTY_SETTINGS))
        groups = [running.enter_context(consuming_members(count)) for count in MEMBER_COUNTS]
        _measure(setting, _workloads(setting, groups, amounts), amounts.rounds, measurements)
    with ExitStack() as running:
        setting = running.enter_context(share_setting(STATE_TOPIC_SETTINGS))
        members = running.enter_context(consuming_members(MEMBER_COUNTS[-1]))
        _measure(setting, _cold_starts(setting, members, amounts), amounts.rounds, measurements)
    name = "share-quick" if is_quick else "share"
    return share_report.result(name, describe_machine(), measurements)


def _measure(
    setting: ShareSetting, workloads: Sequence[Workload], rounds: Rounds, measurements: Measurements
) -> None:
    with shown_steps(step_count(workloads, setting.arms, rounds)) as steps:
        for workload in workloads:
            measure_in_turn(workload, setting.arms, rounds, steps, measurements)


def _workloads(setting: ShareSetting, groups: Sequence[ConsumingMembers], amounts: Amounts) -> list[Workload]:
    workloads: list[Workload] = [OneRecordAtATime(count=amounts.records_one_at_a_time)]
    for record_bytes, count in amounts.records.items():
        topics = _filled_topics(setting, record_bytes, count)
        workloads += [
            ConsumeTogether(
                members,
                record_bytes=record_bytes,
                count=count,
                topics=topics,
                brokers=setting.broker_process_ids,
            )
            for members in groups
        ]
    return _watched(setting, groups, workloads)


def _cold_starts(setting: ShareSetting, members: ConsumingMembers, amounts: Amounts) -> list[Workload]:
    workloads = [
        StartTogether(
            members,
            record_bytes=record_bytes,
            count=count,
            topics=_filled_topics(setting, record_bytes, count),
        )
        for record_bytes, count in amounts.cold_records.items()
    ]
    return _watched(setting, [members], workloads)


def _watched(
    setting: ShareSetting, groups: Sequence[ConsumingMembers], workloads: Sequence[Workload]
) -> list[Workload]:
    taking_part = [os.getpid(), *setting.process_ids, *(pid for group in groups for pid in group.process_ids)]
    return [Sound(Watched(workload, taking_part), setting.kproxy) for workload in workloads]


def _filled_topics(setting: ShareSetting, record_bytes: int, count: int) -> dict[str, str]:
    """A topic with the same records at each broker, by the name of the arm."""
    topics: dict[str, str] = {}
    for name, address in setting.broker_addresses.items():
        topics[name] = new_topic(address)
        fill_topic(address, topics[name], bytes(record_bytes), count, batch_bytes=BATCH_BYTES)
    return topics
