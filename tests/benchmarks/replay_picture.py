"""The picture of the replay benchmark: how time grows with the log, and with its share-partitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, NullFormatter

from kproxy.jobs.pictures.figure_style import FAINT, HUES, picture
from tests.benchmarks.straight_lines import StraightLine

_MEASURED, _LINE, *_ = HUES
_HEIGHT: Final = 4.4
_STEPS: Final = 200


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds by what they grow with, ascending, and the line through them."""

    points: Sequence[tuple[int, float]]
    line: StraightLine


def draw(by_length: Growth, by_share_partitions: Growth, path: Path) -> None:
    """Draw the times into a PNG file: by length twice, since logarithms alone show the short logs."""
    subtitle = (
        "Seconds of one state-at --no-index over Parquet, start-up apart, and the nearest straight lines."
    )
    with picture(path, "The time of a replay grows in straight lines", subtitle, height=_HEIGHT) as figure:
        length, logarithms, share_partitions = figure.subplots(1, 3)
        for axes in (length, logarithms):
            _draw(axes, by_length, "log records")
        _draw(share_partitions, by_share_partitions, "share-partitions")
        for axes in (length, share_partitions):
            axes.set_ylim(bottom=0)
        length.set_ylabel("seconds")
        logarithms.set_xscale("log")
        logarithms.set_yscale("log")
        for axis in (logarithms.xaxis, logarithms.yaxis):
            axis.set_minor_formatter(NullFormatter())
            axis.set_major_formatter(EngFormatter(sep=""))


def _draw(axes: Axes, growth: Growth, label: str) -> None:
    places, seconds = zip(*growth.points, strict=True)
    along = np.geomspace(places[0], places[-1], _STEPS)
    axes.plot(along, growth.line.at_zero + growth.line.slope * along, color=_LINE, linewidth=1.5, zorder=1)
    axes.scatter(places, seconds, color=_MEASURED, s=26, zorder=2)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel(label)
    axes.grid()
    axes.set_title(f"R² {growth.line.explained:.4f}", color=FAINT, fontweight="normal", fontsize=9)
