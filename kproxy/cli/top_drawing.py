"""What `kproxy top` draws: lines of text with colours, as many as a terminal has rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.text import Text

from kproxy.cli.ages import age_text
from kproxy.cli.output import Column
from kproxy.cli.top_columns import COLUMNS, GROUP, LEFT_OUT_FIRST
from kproxy.clients.admin_port import Item
from kproxy.clients.tables import cell_text, table_lines
from kproxy.clients.top.group_looks import GroupLook, HeldByMember
from kproxy.clients.top.screen_state import ScreenState
from kproxy.clients.window_strip import COLOURS, Cell, strip_of, tries_glyph
from kproxy.wording import counted

GAP: Final = 2
NARROWEST_GROUP: Final = 16
"""Characters that a group id has, whatever else there is no room for."""
_HEADER: Final = "bold"
_NOTE: Final = "dim"
_ALARM: Final = "bold red"

HELP: Final = (
    "",
    "  up, down, j, k, page up, page down, home, end   move the cursor, or scroll a group",
    "  enter       open the group under the cursor: its members, and each partition's records in flight",
    "  escape      back to the list; in the list, show all groups again",
    "  /           show only groups with this text in their name, or in this state",
    "  p           sort by pain: how long the oldest unfinished record waits, then lag, then redeliveries",
    "  l  i  o     sort by lag, by what is in flight, by the oldest lock",
    "  a  d  r     sort by what was acknowledged, delivered, redelivered per second",
    "  n  R        sort by name; turn the order around",
    "  space       hold the screen still",
    "  q           end",
    "",
    "  any key goes back",
)


def list_lines(rows: Sequence[Item], state: ScreenState, *, width: int, height: int) -> list[Text]:
    """Return the list of groups, `height` lines at most, with the cursor among them."""
    place = next((place for place, row in enumerate(rows) if row["groupId"] == state.selected), 0)
    page = max(1, height - 1)
    first = max(0, min(place - page // 2, len(rows) - page))
    shown = rows[first : first + page]
    columns = _columns_for(shown, width)
    cells = [[column.cell(row) for column in columns] for row in shown]
    room = width - sum(_width(column, cells, place) + GAP for place, column in enumerate(columns) if place)
    for row in cells:
        row[0] = _cut(row[0], max(NARROWEST_GROUP, room))
    lines = [line.ljust(width) for line in table_lines([column.title for column in columns], cells)]
    drawn = [Text(lines[0], style=_HEADER, no_wrap=True)]
    for number, line in enumerate(lines[1:]):
        style = "reverse" if first + number == place else _style_of(shown[number])
        drawn.append(Text(line, style=style, no_wrap=True))
    if not rows:
        drawn.append(Text("no group has that" if state.text else "there are no share groups", style=_NOTE))
    return drawn


def _columns_for(rows: Sequence[Item], width: int) -> list[Column]:
    """Return the columns that there is room for."""
    chosen = list(COLUMNS)
    for title in LEFT_OUT_FIRST:
        taken = sum(
            GAP + max([len(column.title), *(len(column.cell(row)) for row in rows)])
            for column in chosen
            if column is not GROUP
        )
        if taken + NARROWEST_GROUP <= width:
            break
        chosen = [column for column in chosen if column.title != title]
    return chosen


def _width(column: Column, cells: Sequence[Sequence[str]], place: int) -> int:
    return max([len(column.title), *(len(row[place]) for row in cells)])


def _style_of(row: Item) -> str:
    if row["memberCount"] == 0 and row["lag"]:
        return "red"
    return "yellow" if row["redeliveredPerSecond"] else ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


# ---------------------------------------------------------------- one group


def group_lines(look: GroupLook, glyphs: Mapping[str, str], *, width: int) -> Iterator[Text]:
    """Yield all lines of one group: its members and what each holds, and its partitions with what is in flight."""
    group = look.group
    members = counted(len(group["members"]), "member")
    yield Text(f"{cell_text(group['groupId'])} is {group['state']}: {members}", style=_HEADER)
    yield Text("")
    yield from _member_lines(group, look.held)
    yield Text("")
    for share_partition in look.share_partitions:
        yield Text(_partition_line(share_partition), style=_HEADER)
        runs = look.runs.get((share_partition["topicId"], share_partition["partition"]), ())
        yield from _strip_lines(runs, glyphs, width)
    yield Text("  ").join(Text(f"{glyph} {state}", style=COLOURS[state]) for state, glyph in glyphs.items())


def _member_lines(group: Item, held: Mapping[str, HeldByMember] | None) -> Iterator[Text]:
    members = {member["memberId"]: member for member in group["members"]}
    gone = [member_id for member_id in held or {} if member_id not in members]
    rows = [
        [
            cell_text(member_id),
            cell_text(members[member_id]["clientId"]) if member_id in members else "gone",
            cell_text(age_text(members.get(member_id, {}).get("lastHeartbeatAgeMs"))),
            "?" if held is None else str(held[member_id].count if member_id in held else 0),
            cell_text(age_text(held[member_id].oldest_ms) if held and member_id in held else None),
        ]
        for member_id in (*members, *gone)
    ]
    titles = ["MEMBER", "CLIENT-ID", "HEARTBEAT-AGE", "HOLDS", "HELD-FOR"]
    lines = list(table_lines(titles, rows))
    yield Text(lines[0], style=_HEADER)
    for line, member_id in zip(lines[1:], (*members, *gone), strict=True):
        yield Text(line, style="" if member_id in members else _ALARM)
    if not rows:
        yield Text("nobody consumes: the group has no members", style=_ALARM)


def _partition_line(share_partition: Item) -> str:
    name = cell_text(share_partition["topicName"] or share_partition["topicId"])
    age = age_text(share_partition["oldestAgeMs"], is_exact=share_partition["oldestAgeExact"])
    limit = share_partition["inFlightLimit"]
    in_flight = f"{share_partition['inFlightCount']}" + ("" if limit is None else f" of {limit}")
    return (
        f"{name}-{share_partition['partition']}  lag {cell_text(share_partition['lag'])}, "
        f"in flight {in_flight}, oldest {cell_text(age)}"
    )


def _strip_lines(runs: Sequence[Item], glyphs: Mapping[str, str], width: int) -> Iterator[Text]:
    if not runs:
        return
    label = len(str(runs[-1]["lastOffset"])) + GAP
    strip = strip_of(runs, width=max(NARROWEST_GROUP, width - label), most_rows=2)
    for first_offset, row in zip(strip.first_offsets, strip.rows, strict=True):
        yield Text.assemble(
            f"{first_offset:>{label - GAP}}{'':{GAP}}", *(_drawn(cell, glyphs) for cell in row), no_wrap=True
        )
        if tries := "".join(map(tries_glyph, row)).rstrip():
            yield Text(f"{'':{label}}{tries}", no_wrap=True)


def _drawn(cell: Cell, glyphs: Mapping[str, str]) -> tuple[str, str]:
    return glyphs[cell.state], COLOURS[cell.state]
