"""The picture of the lag: how far behind, and how much was done, of the share-partitions that were worst off."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from kproxy.jobs.history.silver import SHARE_PARTITION
from kproxy.jobs.pictures.figure_style import HUES, moments, nothing_to_show, picture, show_counts, show_time

_MOST_LINES: Final = 7
_MOST_POINTS: Final = 400


def draw(history: DataFrame, names: Mapping[str, str], path: Path) -> None:
    """Draw the share-partitions with the highest lag."""
    points = _points(history)
    lines: dict[tuple[Any, ...], list[Any]] = {}
    for point in points:
        lines.setdefault(tuple(point[:3]), []).append(point)
    subtitle = "Of what the log knows: up to the highest offset delivered. Times are UTC."
    with picture(path, "How far the share-partitions were behind", subtitle, height=5.4) as figure:
        if lines:
            _draw(figure, lines, names)
        else:
            nothing_to_show(figure)


def _points(history: DataFrame) -> Sequence[Any]:
    """Return the worst share-partitions' points, of each no more than a picture can show: the highest of neighbours."""
    worst = (
        history.groupBy(*SHARE_PARTITION)
        .agg(sql.max("lag").alias("worst"))
        .orderBy(sql.desc("worst"), *SHARE_PARTITION)
        .limit(_MOST_LINES)
    )
    part = sql.ntile(_MOST_POINTS).over(Window.partitionBy(*SHARE_PARTITION).orderBy("time_ms"))
    found = (
        history.join(sql.broadcast(worst), list(SHARE_PARTITION))
        .withColumn("part", part)
        .groupBy("worst", *SHARE_PARTITION, "part")
        .agg(
            sql.min("time_ms").alias("time_ms"),
            sql.max("lag").alias("lag"),
            sql.max(sql.col("start_offset") + sql.col("delivery_complete_count")).alias("progress"),
        )
        .orderBy(sql.desc("worst"), *SHARE_PARTITION, "time_ms")
        .drop("worst")
    )
    return list(found.collect())


def _draw(figure: Figure, lines: Mapping[tuple[Any, ...], Sequence[Any]], names: Mapping[str, str]) -> None:
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for (key, points), hue in zip(lines.items(), HUES, strict=False):
        group, topic_id, partition = key
        times = moments([point["time_ms"] for point in points])
        label = f"{group} / {names.get(topic_id, topic_id)}-{partition}"
        above.step(
            times, [point["lag"] for point in points], where="post", color=hue, label=label, linewidth=1.6
        )
        begin = points[0]["progress"]
        done = [point["progress"] - begin for point in points]
        below.step(times, done, where="post", color=hue, linewidth=1.6)
    _label(above, below)


def _label(above: Axes, below: Axes) -> None:
    show_counts(above, "records behind")
    show_counts(below, "done since")
    above.set_title("Lag")
    below.set_title("Records done with since the beginning of the picture")
    above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    for axes in (above, below):
        axes.margins(x=0.005)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    show_time(below)
