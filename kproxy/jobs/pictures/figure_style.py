"""The style of every picture: size, type, colours, axes; and the writing of the PNG file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

INK: Final = "#1f2933"
FAINT: Final = "#7b8794"
LINES: Final = "#e4e7eb"
HUES: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#9aa5b1")
"""The colours of Okabe and Ito, distinct for any colour vision; grey for the rest."""
HEAT: Final = "YlOrRd"
_DPI: Final = 144
_STYLE: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": FAINT,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": LINES,
    "legend.frameon": False,
    "figure.facecolor": "white",
}


@contextmanager
def picture(path: Path, title: str, subtitle: str, *, height: float) -> Iterator[Figure]:
    """Give a figure of `height` inches to draw on, in the style of all; write it to `path` at the end of the block."""
    with mpl.rc_context(_STYLE):
        below_title = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - 0.62 / height))
        figure = Figure(figsize=(10, height), layout=below_title)
        FigureCanvasAgg(figure)
        figure.text(0.012, 1 - 0.26 / height, title, fontsize=13, fontweight="bold", va="center")
        figure.text(0.012, 1 - 0.50 / height, subtitle, fontsize=9, color=FAINT, va="center")
        yield figure
        figure.savefig(path, format="png", dpi=_DPI, metadata={"Software": None})


def moments(times_ms: Sequence[int]) -> list[datetime]:
    """Return epoch milliseconds as matplotlib takes times."""
    return [datetime.fromtimestamp(time_ms / 1000, UTC) for time_ms in times_ms]


def show_time(axes: Axes) -> None:
    """Label the x axis with UTC times."""
    locator = AutoDateLocator(tz=UTC, minticks=3, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, tz=UTC)
    formatter.formats[-1] = "%H:%M:%S"
    axes.xaxis.set_major_formatter(formatter)


def show_counts(axes: Axes, label: str) -> None:
    """Label the y axis with counts, from 0, with grid lines."""
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(axis="y")


def show_offsets(axes: Axes) -> None:
    """Label the y axis with offsets, whole and with separators."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda offset, _: f"{offset:,.0f}"))


def step_text(step_ms: int) -> str:
    """Return a step of time in words: `1 min`."""
    for unit_ms, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if step_ms % unit_ms == 0:
            return f"{step_ms // unit_ms} {unit}"
    return f"{step_ms} ms"


def nothing_to_show(figure: Figure) -> None:
    """Write a line of text in place of a picture."""
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.text(0.5, 0.5, "nothing to show in this part of the history", ha="center", color=FAINT)
