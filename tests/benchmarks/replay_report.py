"""What the replay benchmark's values say: its tables, the lines through them, and the rate that files have to reach."""

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final, TypeAlias

from tests.benchmarks.background import noise_remark
from tests.benchmarks.bars import Bar, Side
from tests.benchmarks.comparison import Quantity, Series, Spread
from tests.benchmarks.replay_picture import Growth, draw
from tests.benchmarks.result_files import Result
from tests.benchmarks.straight_lines import StraightLine, exponent
from tests.benchmarks.tables import NOTHING, Table, bar_table
from tests.benchmarks.workload import Measurements

SECONDS: Final = Quantity("time", "s", 2)
RATE: Final = Quantity("rate", "records/s")
CPU: Final = Quantity("CPU", "s per million records", 1)
"""Of Spark, its workers and the broker. Other processes change it far less than they change the rate."""
THOUSANDS: Final = Quantity("rate of bars", "thousand records/s", 1)

LEAST_RATE_OF_FILES: Final = 150
"""Thousand records a second, on two cores."""
LONG: Final = 1_000_000
"""From so many records on what does not grow with the log is small beside what does."""
MILLION: Final = 1_000_000

HOW_TO_READ: Final = (
    "Medians over the rounds, their lowest and highest in brackets. The time is that of the whole command in a Spark "
    "that is up and warm."
)


class Question(Enum):
    """What is asked of the benchmark."""

    SOURCE = "source"
    LENGTH = "log length"
    SHARE_PARTITIONS = "number of share-partitions"


class SourceName(Enum):
    """Where a log is read from, and by what."""

    PARQUET = "Parquet"
    LINES = "JSON lines"
    PYTHON = "Kafka, source in Python"
    PARQUET_4_0 = "Parquet, Spark 4.0.0"
    JAR = "Kafka, source in the JVM, Spark 4.0.0"


_COMPARED_WITH: Final[Mapping[SourceName, SourceName]] = {
    SourceName.LINES: SourceName.PARQUET,
    SourceName.PYTHON: SourceName.PARQUET,
    SourceName.JAR: SourceName.PARQUET_4_0,
}

_FILES: Final = (SourceName.PARQUET, SourceName.LINES)

Growths: TypeAlias = Mapping[Question, Growth]


def result(name: str, machine: Mapping[str, str], measured: Measurements) -> Result:
    """Put together what was measured."""
    growths = {
        question: _growth(measured.series(question.value, SECONDS))
        for question in (Question.LENGTH, Question.SHARE_PARTITIONS)
    }
    bars = _bars(measured)
    return Result(
        name=name,
        machine=machine,
        remarks=[HOW_TO_READ, noise_remark(measured)],
        tables=[
            _source_table(measured),
            *(_growth_table(question, measured, growth) for question, growth in growths.items()),
            _line_table(growths),
            bar_table(bars),
        ],
        values={
            "replay": measured.as_json(),
            "lines": {question.value: growth.line.as_json() for question, growth in growths.items()},
            "bars": [bar.as_json() for bar in bars],
        },
        draw=partial(draw, growths[Question.LENGTH], growths[Question.SHARE_PARTITIONS]),
    )


def _growth(series: Series) -> Growth:
    points = [(int(place), series.spread(place).median) for place in series.arms]
    return Growth(points, StraightLine.through(points))


def _source_table(measured: Measurements) -> Table:
    rates, cpu = (measured.series(Question.SOURCE.value, quantity) for quantity in (RATE, CPU))
    rows = [
        [
            name.value,
            _with_range(rates.spread(name.value), RATE),
            *_compared(name, rates),
            _with_range(cpu.spread(name.value), CPU),
        ]
        for name in SourceName
        if rates.has(name.value)
    ]
    return Table(
        "Where the log is read from",
        ["", "records/s", "of Parquet's, same Spark", "CPU, s per million"],
        rows,
    )


def _compared(name: SourceName, rates: Series) -> Sequence[str]:
    other = _COMPARED_WITH.get(name)
    if other is None or not rates.has(other.value):
        return [NOTHING]
    return [_with_range(rates.ratio(name.value, other.value), Quantity("ratio", "", 2))]


def _growth_table(question: Question, measured: Measurements, growth: Growth) -> Table:
    seconds, rates, cpu = (measured.series(question.value, quantity) for quantity in (SECONDS, RATE, CPU))
    rows = [
        [
            f"{place:,}",
            _with_range(seconds.spread(str(place)), SECONDS),
            SECONDS.written(growth.line.at(place)),
            RATE.written(rates.spread(str(place)).median),
            CPU.written(cpu.spread(str(place)).median),
        ]
        for place, _ in growth.points
    ]
    heads = [question.value, "time, s", "on the line, s", "records/s", "CPU, s per million"]
    return Table(f"Time by {question.value}, Parquet", heads, rows)


def _line_table(growths: Growths) -> Table:
    rows = [
        [
            f"time by {question.value}",
            f"{growth.line.at_zero:.2f} s + {growth.line.slope * MILLION:.2f} s a million",
            f"{growth.line.explained:.4f}",
            f"{growth.line.farthest:.0%}",
            _exponent(question, growth),
        ]
        for question, growth in growths.items()
    ]
    return Table("Straight lines", ["", "line", "R²", "farthest point", "exponent"], rows)


def _exponent(question: Question, growth: Growth) -> str:
    """Return the power that time grows with, where what does not grow is small."""
    long = [(place, seconds) for place, seconds in growth.points if place >= LONG]
    if question is not Question.LENGTH or len(long) < 2:
        return NOTHING
    return f"{exponent(long):.3f}"


def _bars(measured: Measurements) -> list[Bar]:
    sources, lengths = (
        measured.series(question.value, THOUSANDS) for question in (Question.SOURCE, Question.LENGTH)
    )
    rates = {f"state-at over {name.value}": sources.spread(name.value) for name in _FILES}
    rates |= {
        f"state-at over Parquet, {int(place):,} records": lengths.spread(place)
        for place in lengths.arms
        if int(place) > LONG
    }
    unit = f" {THOUSANDS.unit}"
    return [Bar(title, Side.AT_LEAST, LEAST_RATE_OF_FILES, unit, rate) for title, rate in rates.items()]


def _with_range(spread: Spread, quantity: Quantity) -> str:
    ends = f"[{quantity.written(spread.lowest)}, {quantity.written(spread.highest)}]"
    return f"{quantity.written(spread.median)} {ends}"
