"""What the relay benchmark's values say: its tables, and the bars that kproxy has to reach."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from tests.benchmarks.background import CORES_OF_OTHERS
from tests.benchmarks.bars import Bar, Side
from tests.benchmarks.comparison import Quantity, Series, Spread
from tests.benchmarks.connection_memory import (
    ABOVE_IDLE,
    IDLE_MEMORY,
    PER_PAIR,
    STREAM_CPU,
    STREAM_RATE,
    IdleConnections,
    Streams,
)
from tests.benchmarks.record_streams import CPU_PER_GB, RATE
from tests.benchmarks.relay_setting import DIRECT, HAPROXY, KPROXY
from tests.benchmarks.result_files import Result
from tests.benchmarks.small_requests import CPU_PER_REQUEST, LATE_LATENCY, MEDIAN_LATENCY, REQUEST_RATE
from tests.benchmarks.tables import Table, bar_table, comparison_table
from tests.benchmarks.workload import Measurements

ARMS: Final = (DIRECT, KPROXY, HAPROXY)
RELAYS: Final = (KPROXY, HAPROXY)
RATIOS: Final = ((KPROXY, DIRECT), (HAPROXY, DIRECT), (KPROXY, HAPROXY))
RELAY_RATIOS: Final = ((KPROXY, HAPROXY),)

ADDED_MEDIAN: Final = Quantity("added to p50", "µs", 0)
ADDED_LATE: Final = Quantity("added to p99", "µs", 0)

MOST_CPU_OF_HAPROXY: Final = 1.3
LEAST_RATE_OF_DIRECT: Final = 0.7
MOST_KB_PER_PAIR: Final = 10
MOST_MIB_OF_STREAMS: Final = 16

HOW_TO_READ: Final = (
    "Medians over the rounds. A ratio is taken within each round; its lowest and highest stand in brackets."
)

Rows: TypeAlias = list[tuple[str, Series]]


def result(
    name: str,
    machine: Mapping[str, str],
    *,
    alone: Measurements,
    memory: Measurements,
    together: Measurements,
) -> Result:
    """Put together what was measured with relays alone on their core, of memory, and with all on all cores."""
    bars = _bars(alone, memory)
    return Result(
        name=name,
        machine=machine,
        remarks=[HOW_TO_READ, _noise(alone, together)],
        tables=[
            *_record_tables("relays on a core of their own", alone),
            *_request_tables(alone),
            _connection_table(memory),
            *_record_tables("everything on all cores", together),
            bar_table(bars),
        ],
        values={
            "alone": alone.as_json(),
            "memory": memory.as_json(),
            "together": together.as_json(),
            "bars": [bar.as_json() for bar in bars],
        },
    )


def _record_tables(placement: str, measured: Measurements) -> list[Table]:
    rates, cpu = measured.of_quantity(RATE), measured.of_quantity(CPU_PER_GB)
    return [
        _compared(f"Records, MB/s; {placement}", rates),
        _compared(f"Records, CPU seconds of the relay per GB; {placement}", cpu),
    ]


def _request_tables(measured: Measurements) -> list[Table]:
    cpu, rates = measured.of_quantity(CPU_PER_REQUEST), measured.of_quantity(REQUEST_RATE)
    return [
        _compared("Small requests, CPU of the relay, µs", cpu),
        _compared("Small requests, one at a time, latency, µs", _latencies(measured)),
        _compared("Small requests, many in flight, requests/s", rates),
    ]


def _latencies(measured: Measurements) -> Rows:
    rows: Rows = []
    for quantity, added in ((MEDIAN_LATENCY, ADDED_MEDIAN), (LATE_LATENCY, ADDED_LATE)):
        for workload, series in measured.of_quantity(quantity):
            # Where many are in flight, each waits mostly for the others.
            if (workload, REQUEST_RATE) not in measured:
                rows.append((f"{workload}: {quantity.title}", series))
                rows.append((f"{workload}: {added.title}", series.excess(DIRECT, added)))
    return rows


def _compared(title: str, rows: Sequence[tuple[str, Series]]) -> Table:
    return comparison_table(title, rows, arms=ARMS, ratios=RATIOS)


def _connection_table(measured: Measurements) -> Table:
    rows = [
        (f"{workload}: {quantity.title}, {quantity.unit}", series)
        for quantity in (IDLE_MEMORY, PER_PAIR, ABOVE_IDLE, STREAM_RATE, STREAM_CPU)
        for workload, series in measured.of_quantity(quantity)
    ]
    return comparison_table("Connections", rows, arms=RELAYS, ratios=RELAY_RATIOS)


def _bars(alone: Measurements, memory: Measurements) -> list[Bar]:
    cpu = [
        Bar(
            f"{name}: CPU of haproxy's", Side.AT_MOST, MOST_CPU_OF_HAPROXY, "x", series.ratio(KPROXY, HAPROXY)
        )
        for name, series in alone.of_quantity(CPU_PER_GB)
    ]
    rates = [
        Bar(f"{name}: rate of direct", Side.AT_LEAST, LEAST_RATE_OF_DIRECT, "x", series.ratio(KPROXY, DIRECT))
        for name, series in alone.of_quantity(RATE)
        if name.startswith("consume")
    ]
    pair = memory.series(IdleConnections.name, PER_PAIR).spread(KPROXY)
    streams = memory.series(Streams.name, ABOVE_IDLE).spread(KPROXY)
    return [
        *cpu,
        *rates,
        Bar(IdleConnections.name, Side.AT_MOST, MOST_KB_PER_PAIR, " kB a pair", pair),
        Bar(Streams.name, Side.AT_MOST, MOST_MIB_OF_STREAMS, " MiB above idle", streams),
    ]


def _noise(*measured: Measurements) -> str:
    values = [
        value
        for each in measured
        for _name, series in each.of_quantity(CORES_OF_OTHERS)
        for arm in series.arms
        for value in series.values(arm)
    ]
    others = Spread.of(values)
    return (
        f"Meanwhile processes that had no part in it used {others.median:.2f} cores (median; {others.lowest:.2f} to "
        f"{others.highest:.2f})."
    )
