"""The picture of the throughput: what was acknowledged over time, and by which members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.jobs.history.buckets import step_of
from kproxy.jobs.history.changes import (
    ACCEPT,
    FINISHED,
    GAP,
    REJECT,
    RELEASE,
    is_at_delivery_limit,
)
from kproxy.jobs.pictures.figure_style import (
    FAINT,
    moments,
    nothing_to_show,
    picture,
    show_counts,
    show_time,
    step_text,
)
from kproxy.statelog.actors import Cause

_MOST_STEPS: Final = 300
_MOST_MEMBERS: Final = 14
_AT_LIMIT: Final = "+delivery-limit"
"""Behind an event whose records it ended at the delivery limit: these are drawn apart."""


@dataclass(frozen=True, slots=True)
class _Look:
    """How an event is drawn."""

    label: str
    colour: str


_LOOKS: Final[Mapping[str, _Look]] = {
    ACCEPT: _Look("accepted", "#0072b2"),
    FINISHED: _Look("finished, cause not recorded", "#56b4e9"),
    GAP: _Look("no record", "#c9d1d9"),
    RELEASE: _Look("released", "#e69f00"),
    REJECT: _Look("rejected", "#d55e00"),
    Cause.LOCK_TIMEOUT.value: _Look("lock expired", "#cc79a7"),
    Cause.SESSION_CLOSE.value: _Look("session closed", "#8c6bb1"),
    f"{RELEASE}{_AT_LIMIT}": _Look("released at the delivery limit", "#8a5f00"),
    f"{Cause.LOCK_TIMEOUT}{_AT_LIMIT}": _Look("lock expired at the limit", "#7d4263"),
    f"{Cause.SESSION_CLOSE}{_AT_LIMIT}": _Look("session closed at the limit", "#4b3668"),
    Cause.DELIVERY_LIMIT.value: _Look("given up at the limit", "#3e4c59"),
    Cause.LOG_START_MOVED.value: _Look("lost by the topic", "#009e73"),
}
"""The events that are drawn, in order."""
_LABELS_PER_LINE: Final = 5


def draw(base: DataFrame, fairness: DataFrame, every_ms: int, path: Path) -> None:
    """Draw `counts` of the job, and the members of the busiest groups with how evenly they shared the work."""
    at_limit = sql.concat("event", sql.lit(_AT_LIMIT))
    is_drawn_apart = is_at_delivery_limit() & (sql.col("event") != Cause.DELIVERY_LIMIT.value)
    base = base.withColumn("event", sql.when(is_drawn_apart, at_limit).otherwise(sql.col("event")))
    first_ms, last_ms = base.agg(sql.min("time_ms"), sql.max("time_ms")).first()
    if first_ms is None:
        with picture(path, "Acknowledgements", "", height=4) as figure:
            nothing_to_show(figure)
        return
    every_ms *= -(-(last_ms - first_ms + every_ms) // (every_ms * _MOST_STEPS))
    members = _members(base)
    height = 4.6 + 0.27 * len(members)
    subtitle = f"Records a second in steps of {step_text(every_ms)}, and all in all by member. Times are UTC."
    with picture(path, "What became of the deliveries", subtitle, height=height) as figure:
        grid = figure.add_gridspec(2, 1, height_ratios=(3.2, 0.5 + 0.27 * len(members)))
        _draw_times(figure.add_subplot(grid[0]), _rates(base, every_ms), every_ms)
        _draw_members(figure, figure.add_subplot(grid[1]), members, fairness.limit(3).collect())


def _members(base: DataFrame) -> list[Mapping[str, Any]]:
    """Return the busiest members, with their records by event."""
    known = base.where(sql.col("member").isNotNull() & sql.col("event").isin(*_LOOKS))
    table = known.groupBy("group", "member").pivot("event", list(_LOOKS)).agg(sql.sum("record_count"))
    clients = base.groupBy("group", "member").agg(sql.max("client_id").alias("client_id"))
    total = sum((sql.coalesce(event, sql.lit(0)) for event in map(sql.col, map(_quoted, _LOOKS))), sql.lit(0))
    busiest = (
        table.withColumn("total", total).orderBy(sql.desc("total"), "group", "member").limit(_MOST_MEMBERS)
    )
    return [
        row.asDict()
        for row in busiest.join(clients, ["group", "member"]).orderBy(sql.desc("total")).collect()
    ]


def _quoted(name: str) -> str:
    return f"`{name}`"


def _rates(base: DataFrame, every_ms: int) -> Mapping[str, Mapping[int, float]]:
    """Return records a second by event and time."""
    stepped = base.groupBy("event", step_of("time_ms", every_ms).alias("step_ms"))
    rates: dict[str, dict[int, float]] = {}
    for row in stepped.agg(sql.sum("record_count").alias("records")).collect():
        rates.setdefault(row["event"], {})[row["step_ms"]] = row["records"] * 1000 / every_ms
    return rates


def _draw_times(axes: Axes, rates: Mapping[str, Mapping[int, float]], every_ms: int) -> None:
    times_ms = [time_ms for of_event in rates.values() for time_ms in of_event]
    steps = range(min(times_ms), max(times_ms) + 1, every_ms)
    events = [event for event in _LOOKS if event in rates]
    heights = [[rates[event].get(step, 0.0) for step in steps] for event in events]
    axes.stackplot(
        moments([*steps, steps[-1] + every_ms]),
        # A step is as wide as the time to the next point, so the last one has to be there twice.
        [[*of_event, of_event[-1]] for of_event in heights],
        step="post",
        colors=[_LOOKS[event].colour for event in events],
        labels=[_LOOKS[event].label for event in events],
        linewidth=0,
    )
    axes.margins(x=0)
    show_counts(axes, "records/s")
    show_time(axes)
    lines = -(-len(events) // _LABELS_PER_LINE)
    axes.set_ylim(top=axes.get_ylim()[1] * (1.08 + 0.1 * lines))
    axes.legend(
        loc="upper left",
        ncols=min(len(events), _LABELS_PER_LINE),
        fontsize=8,
        handlelength=1,
        columnspacing=1.2,
    )


def _draw_members(
    figure: Figure, axes: Axes, members: Sequence[Mapping[str, Any]], fairness: Sequence[Any]
) -> None:
    if not members:
        figure.delaxes(axes)
        return
    names = [f"{member['group']} / {member['client_id'] or member['member'][:12]}" for member in members]
    for event in _LOOKS:
        widths = [member[event] or 0 for member in members]
        before = [sum(member[e] or 0 for e in _until(event)) for member in members]
        axes.barh(range(len(names)), widths, left=before, color=_LOOKS[event].colour, height=0.7)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(axis="x")
    axes.set_title("Members" + "".join(f"   {row['groupId']}: Gini {row['gini']:.2f}" for row in fairness))
    axes.set_xlabel("records", color=FAINT)


def _until(event: str) -> Sequence[str]:
    """Return the events that are drawn before this one."""
    events = list(_LOOKS)
    return events[: events.index(event)]
