"""The replay benchmark: how fast `kproxy replay state-at --no-index` folds a log, and how its time grows."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Self

from tests.benchmarks.background import CORES_OF_OTHERS
from tests.benchmarks.comparison import rotated
from tests.benchmarks.machine import describe_machine
from tests.benchmarks.replay_logs import SHARE_PARTITIONS, Log, log_in_files, log_in_topic
from tests.benchmarks.replay_report import CPU, RATE, SECONDS, THOUSANDS, Question, SourceName, result
from tests.benchmarks.replay_setting import ReplaySetting, replay_setting
from tests.benchmarks.replaying_spark import ReplayingSpark
from tests.benchmarks.result_files import Result
from tests.benchmarks.steps import shown_steps
from tests.benchmarks.workload import Measurements, Steps
from tests.spark.log_generator import write_lines, write_partition

LONGEST_VARIABLE: Final = "KPROXY_BENCH_LONGEST"
"""Asks for longer logs than LONGEST; with 100,000,000 it takes twenty minutes, and 3 GB of disk."""
LONGEST: Final = 3_000_000
ALL_LENGTHS: Final = (10_000, 100_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
ONE_ROUND_FROM: Final = 10_000_000
"""Logs of so many records and more are replayed once, not in every round."""
WARM_UP_RECORDS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is measured, and how often."""

    rounds: int
    lengths: Sequence[int]
    share_partitions: Sequence[int]
    records_of_share_partitions: int
    """Of each log that differs from others in the number of its share-partitions."""
    records_of_sources: int
    records_of_lines: int

    @classmethod
    def full(cls, longest: int) -> Self:
        """Return what is measured with logs of up to `longest` records."""
        lengths = [length for length in ALL_LENGTHS if length <= max(longest, LONGEST)]
        return cls(3, lengths, (8, 25_000, 50_000, 100_000, 150_000), 1_000_000, 1_000_000, 200_000)


QUICK: Final = Amounts(1, (10_000, 50_000), (8, 4_000), 20_000, 50_000, 20_000)


@dataclass(frozen=True, slots=True)
class Case:
    """A log, who replays it, and under what its times are noted."""

    question: Question
    place: str
    spark: ReplayingSpark
    records: int
    log: Callable[[int], Log]
    """Writes a log of so many records."""


def run(*, is_quick: bool) -> Result:
    """Measure everything: some six minutes, or a coarse one. Raises `JobBroke`, and what starting Kafka raises."""
    longest = int(os.environ.get(LONGEST_VARIABLE, LONGEST))
    amounts = QUICK if is_quick else Amounts.full(longest)
    measured = Measurements()
    with ExitStack() as running:
        setting = running.enter_context(replay_setting())
        questions = _questions(setting, amounts)
        steps = running.enter_context(shown_steps(_step_count(questions, amounts.rounds)))
        _warm_up(questions[0], steps)
        for group in questions:
            _measure(group, amounts.rounds, steps, measured)
        versions = {"pyspark": setting.newest.version, "pyspark with the jar": setting.with_jar.version}
    name = "replay-quick" if is_quick else "replay"
    return result(name, {**describe_machine(), **versions}, measured)


def _questions(setting: ReplaySetting, amounts: Amounts) -> Sequence[Sequence[Case]]:
    parquet = partial(log_in_files, setting.folder, write_partition)
    newest = setting.newest
    return [
        _sources(setting, amounts),
        [
            Case(Question.LENGTH, str(length), newest, length, partial(parquet, SHARE_PARTITIONS))
            for length in amounts.lengths
        ],
        [
            Case(
                *(Question.SHARE_PARTITIONS, str(count), newest, amounts.records_of_share_partitions),
                partial(parquet, count),
            )
            for count in amounts.share_partitions
        ],
    ]


def _sources(setting: ReplaySetting, amounts: Amounts) -> Sequence[Case]:
    parquet, lines = (
        partial(log_in_files, setting.folder, write, SHARE_PARTITIONS)
        for write in (write_partition, write_lines)
    )
    topic = partial(log_in_topic, setting.broker_address, setting.broker_process_ids)
    records, newest, with_jar = amounts.records_of_sources, setting.newest, setting.with_jar
    logs = {
        SourceName.PARQUET: (newest, records, parquet),
        SourceName.LINES: (newest, amounts.records_of_lines, lines),
        SourceName.PYTHON: (newest, records, partial(topic, "python")),
        SourceName.PARQUET_4_0: (with_jar, records, parquet),
        SourceName.JAR: (with_jar, records, partial(topic, "jar")),
    }
    return [Case(Question.SOURCE, name.value, *log) for name, log in logs.items()]


def _warm_up(cases: Sequence[Case], steps: Steps) -> None:
    """Let every Spark compile what it needs for each source."""
    _measure([replace(case, records=WARM_UP_RECORDS) for case in cases], 1, steps, Measurements())


def _step_count(questions: Sequence[Sequence[Case]], rounds: int) -> int:
    runs = sum(1 if case.records >= ONE_ROUND_FROM else rounds for cases in questions for case in cases)
    return runs + sum(map(len, questions)) + 2 * len(questions[0])


def _measure(cases: Sequence[Case], rounds: int, steps: Steps, measured: Measurements) -> None:
    """Write the logs, and replay each in every round, each round beginning with another one."""
    logs = {case.place: _written(case, steps) for case in cases}
    for number in range(rounds):
        for case in rotated(cases, number):
            if number and case.records >= ONE_ROUND_FROM:
                continue
            steps.begin(f"{case.question.value}, round {number + 1} of {rounds}: {case.place}")
            replay = case.spark.state_at(logs[case.place])
            measured.add(
                case.question.value,
                case.place,
                {
                    SECONDS: replay.seconds,
                    RATE: replay.records / replay.seconds,
                    THOUSANDS: replay.records / replay.seconds / 1_000,
                    CPU: replay.cpu_seconds / replay.records * 1_000_000,
                    CORES_OF_OTHERS: replay.cores_of_others,
                },
            )
            steps.finish()


def _written(case: Case, steps: Steps) -> Log:
    steps.begin(f"{case.question.value}, {case.place}: writing {case.records:,} records")
    log = case.log(case.records)
    steps.finish()
    return log
