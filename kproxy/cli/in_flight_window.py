"""`kproxy in-flight window`: the strip of one share-partition, from start offset to end offset."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.backing_cluster import BackingCluster
from kproxy.cli.in_flight_place import NOT_LIVE, is_live, one_share_partition, runs_of, say_source
from kproxy.cli.log_source import with_log_source
from kproxy.cli.watch import with_watch
from kproxy.clients.admin_port import Item, answer_of, items_of
from kproxy.clients.diagnosis.attempts import attempt_text
from kproxy.clients.diagnosis.spans import span_text
from kproxy.clients.diagnosis.windows import window_text
from kproxy.clients.failures import NotThere
from kproxy.clients.tables import cell_text
from kproxy.clients.window_strip import COLOURS, GLYPHS, PLAIN_GLYPHS, Cell, Strip, strip_of, tries_glyph
from kproxy.wording import counted

MOST_ROWS: Final = 8
_NARROWEST: Final = 20


@click.command(
    epilog="""Examples:

\b
  kproxy in-flight window -g orders-workers -t orders -p 0
  kproxy in-flight window -g orders-workers -t orders -p 0 --watch 1
  kproxy in-flight window -g orders-workers -t orders -p 0 --from-log -b localhost:9092

The exit code is 3 when there is no such group, topic or partition.
"""
)
@one_share_partition
@with_watch
@with_log_source
@with_admin_url
def window(log: BackingCluster | None, /, group: str, topic: str, partition: int, admin_url: str) -> None:
    """Draw the records in flight of one share-partition as a strip, from its start offset to its end offset.

    A character stands for one offset, or for several in a long window: then for what somebody still waits for. The
    number beneath it is how often a record was tried that is not the first time. The first character blocks all others.
    """
    answer, runs = runs_of(log, admin_url, group, topic, partition)
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    glyphs = GLYPHS if encoding.startswith("utf") else PLAIN_GLYPHS
    for line in _lines(runs, glyphs, width=shutil.get_terminal_size().columns):
        click.echo(line)
    if log is None and runs and (full := _fullness(admin_url, runs[0])):
        click.echo(f"the window is {full}")
    say_source(log)
    require_whole(answer)


def _fullness(admin_url: str, run: Item) -> str:
    """Return what it means that the window with this run is full; empty where it is not. No broker is asked."""
    try:
        (group,) = items_of(answer_of(admin_url, "groups", run["groupId"], query={"lag": "false"}))
    except NotThere:
        return ""  # it ended meanwhile
    place = run["topicId"], run["partition"]
    there = [each for each in group["sharePartitions"] if (each["topicId"], each["partition"]) == place]
    return window_text(there[0]) if there else ""


def _lines(runs: Sequence[Item], glyphs: Mapping[str, str], *, width: int) -> Iterator[str]:
    if not runs:
        yield "nothing is in flight"
        return
    start, end = runs[0]["firstOffset"], runs[-1]["lastOffset"]
    label = len(str(end)) + 2
    strip = strip_of(runs, width=max(_NARROWEST, width - label), most_rows=MOST_ROWS)
    each = f", {strip.offsets_per_cell} to a character" if strip.offsets_per_cell > 1 else ""
    yield f"{counted(end + 1 - start, 'offset')} in flight, {start} to {end}{each}"
    for first_offset, row in zip(strip.first_offsets, strip.rows, strict=True):
        yield f"{first_offset:>{label - 2}}  {''.join(_drawn(cell, glyphs) for cell in row)}"
        if tries := "".join(tries_glyph(cell) for cell in row).rstrip():
            yield f"{'':{label}}{tries}"
    yield "  ".join(_legend(strip, glyphs))
    yield _first_unfinished(runs)
    if not is_live(runs):
        yield f"{NOT_LIVE}: the next fetch takes over from there"


def _drawn(cell: Cell, glyphs: Mapping[str, str]) -> str:
    return click.style(glyphs[cell.state], fg=COLOURS[cell.state])


def _legend(strip: Strip, glyphs: Mapping[str, str]) -> Iterator[str]:
    for state, number in strip.counts.items():
        yield f"{click.style(glyphs[state], fg=COLOURS[state])} {state} {number}"


def _first_unfinished(runs: Sequence[Item]) -> str:
    first = next((run for run in runs if run["state"] in {"Acquired", "Available"}), None)
    if first is None:
        return "all of it is done with"
    attempt = attempt_text(first)
    if first["memberId"] is None:
        return f"offset {first['firstOffset']} blocks the start offset: held by nobody, {attempt}"
    holder = cell_text(first["memberId"]) + (
        f" ({cell_text(first['clientId'])})" if first["clientId"] else ""
    )
    left = f"lock ends in {span_text(first['lockRemainingMs'])}"
    return f"offset {first['firstOffset']} blocks the start offset: held by {holder}, {attempt}, {left}"
