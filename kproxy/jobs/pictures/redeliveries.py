"""The heat map of redeliveries: offsets upwards, time to the right, one map for each share-partition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.jobs.history.buckets import step_of
from kproxy.jobs.history.silver import SHARE_PARTITION, SILVER_ARROW_SCHEMA
from kproxy.jobs.pictures.figure_style import (
    HEAT,
    INK,
    moments,
    nothing_to_show,
    picture,
    show_offsets,
    show_time,
    step_text,
)
from kproxy.jobs.sources.local_rows import local_frame
from kproxy.wording import counted

_MOST_MAPS: Final = 6
_MOST_COLUMNS: Final = 240
_MOST_ROWS: Final = 160
_INCHES_PER_MAP: Final = 2.2
_INCHES_AROUND: Final = 1.1
_KEY_SCHEMA: Final = pa.schema([SILVER_ARROW_SCHEMA.field(name) for name in SHARE_PARTITION])


@dataclass(frozen=True, slots=True)
class _Grid:
    """The lines of every map: the first and the end of time, and how far apart times and offsets are."""

    first_ms: int
    end_ms: int
    every_ms: int
    offsets: int


def draw(cells: DataFrame, every_ms: int, offsets: int, names: Mapping[str, str], path: Path) -> None:
    """Draw the share-partitions with the most redeliveries."""
    worst = _worst(cells)
    grid = _grid(cells, every_ms, offsets)
    subtitle = (
        f"Records given back, by {step_text(grid.every_ms)} and {counted(grid.offsets, 'offset', ',')}. "
        "Times are UTC."
    )
    height = _INCHES_AROUND + max(1, len(worst)) * _INCHES_PER_MAP
    with picture(path, "Where and when records had to be delivered again", subtitle, height=height) as figure:
        if worst:
            _draw_maps(figure, worst, _points(cells, worst, grid), grid, names)
        else:
            nothing_to_show(figure)


def _worst(cells: DataFrame) -> Sequence[Any]:
    totals = cells.groupBy(*SHARE_PARTITION).agg(
        sql.sum("redelivered").alias("total"), sql.sum("atDeliveryLimit").alias("lost")
    )
    return list(totals.orderBy(sql.desc("total"), *SHARE_PARTITION).limit(_MOST_MAPS).collect())


def _grid(cells: DataFrame, every_ms: int, offsets: int) -> _Grid:
    """Return lines that are no closer than a picture can show."""
    span = cells.groupBy(*SHARE_PARTITION).agg(
        (sql.max("last_offset") - sql.min("first_offset") + 1).alias("offsets")
    )
    most_offsets = span.agg(sql.max("offsets")).first()[0] or 1
    first_ms, last_ms = cells.agg(sql.min("time_ms"), sql.max("time_ms")).first()
    first_ms, end_ms = first_ms or 0, (last_ms or 0) + every_ms
    every_ms *= -(-(end_ms - first_ms) // (every_ms * _MOST_COLUMNS))
    offsets *= -(-most_offsets // (offsets * _MOST_ROWS))
    first_ms -= first_ms % every_ms
    return _Grid(first_ms, first_ms + -(-(end_ms - first_ms) // every_ms) * every_ms, every_ms, offsets)


def _points(cells: DataFrame, worst: Sequence[Any], grid: _Grid) -> Sequence[Any]:
    """Return the sums of the cells, as coarse as the picture is: few."""
    shown = local_frame(cells.sparkSession, (row.asDict() for row in worst), _KEY_SCHEMA)
    found = (
        cells.join(sql.broadcast(shown), list(SHARE_PARTITION))
        .groupBy(
            *SHARE_PARTITION,
            step_of("time_ms", grid.every_ms).alias("time_ms"),
            step_of("first_offset", grid.offsets).alias("first_offset"),
        )
        .agg(sql.sum("redelivered").alias("records"))
    )
    return list(found.collect())


def _draw_maps(
    figure: Figure, worst: Sequence[Any], points: Sequence[Any], grid: _Grid, names: Mapping[str, str]
) -> None:
    most = max([point["records"] for point in points], default=1) or 1
    norm = PowerNorm(0.6, vmin=0, vmax=most)
    all_axes = list(figure.subplots(len(worst), 1, sharex=True, squeeze=False)[:, 0])
    for axes, place in zip(all_axes, worst, strict=True):
        _draw_map(axes, [point for point in points if tuple(point[:3]) == tuple(place[:3])], grid, norm)
        name = names.get(place["topic_id"], place["topic_id"])
        lost = f", {place['lost']:,} given up at the delivery limit" if place["lost"] else ""
        axes.set_title(
            f"{place['group']} / {name}-{place['partition']}: {place['total']:,} redelivered{lost}"
        )
        axes.set_ylabel("offset")
        show_offsets(axes)
    show_time(all_axes[-1])
    bar = figure.colorbar(ScalarMappable(norm, HEAT), ax=all_axes, aspect=40, pad=0.015, fraction=0.03)
    bar.set_label("records", color=INK)
    bar.outline.set_visible(False)
    bar.locator = MaxNLocator(nbins=6, integer=True)
    bar.update_ticks()


def _draw_map(axes: Axes, points: Sequence[Any], grid: _Grid, norm: Normalize) -> None:
    low = min(point["first_offset"] for point in points)
    high = max(point["first_offset"] for point in points) + grid.offsets
    columns = (grid.end_ms - grid.first_ms) // grid.every_ms
    records = np.full(((high - low) // grid.offsets, columns), np.nan)
    for point in points:
        row = (point["first_offset"] - low) // grid.offsets
        records[row, (point["time_ms"] - grid.first_ms) // grid.every_ms] = point["records"] or np.nan
    left, right = date2num(moments([grid.first_ms, grid.end_ms]))
    axes.set_facecolor("#f5f7fa")
    axes.imshow(
        records,
        cmap=HEAT,
        norm=norm,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=(left, right, low, high),
    )
