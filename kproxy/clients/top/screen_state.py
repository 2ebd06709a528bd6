"""What the screen of `kproxy top` shows, and what becomes of it at a key. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kproxy.clients.top.terminal_keys import (
    BACKSPACE,
    DOWN,
    END,
    ENTER,
    ESCAPE,
    HOME,
    PAGE_DOWN,
    PAGE_UP,
    UP,
)

SORT_KEYS: Final[Mapping[str, str]] = {
    "p": "pain",
    "l": "lag",
    "i": "in-flight",
    "a": "acknowledged",
    "d": "delivered",
    "r": "redelivered",
    "o": "lock",
    "n": "name",
}
"""The key that sorts by what."""
LONGEST_FILTER: Final = 60


@dataclass(frozen=True, slots=True)
class ScreenState:
    """What the person at the keyboard asked for.

    `selected` is the group that the cursor is on, None for the first one; `opened` the one that is shown alone, None
    for the list. `first_line` is the first line of that group that is shown. While `is_typing`, keys are the text to
    filter by. While `is_paused` nothing new is shown.
    """

    sort: str = "pain"
    is_reversed: bool = False
    text: str = ""
    is_typing: bool = False
    selected: str | None = None
    opened: str | None = None
    first_line: int = 0
    is_paused: bool = False
    has_help: bool = False
    is_ended: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What is on the screen: the groups of the list in order, and how many lines there are room for."""

    group_ids: Sequence[str]
    page: int = 10

    def place_of(self, group_id: str | None) -> int:
        """Return the place of a group in the list, the first one for a group that is not there."""
        return self.group_ids.index(group_id) if group_id in self.group_ids else 0


def after_key(state: ScreenState, key: str, shown: Shown) -> ScreenState:
    """Return the state after a key was pressed; `shown` is what was to be seen then."""
    if state.is_typing:
        return _typed(state, key)
    if state.has_help and key != "q":
        return replace(state, has_help=False)
    match key:
        case "q":
            return replace(state, is_ended=True)
        case "?" | "h":
            return replace(state, has_help=True)
        case " ":
            return replace(state, is_paused=not state.is_paused)
        case _:
            return (_in_list if state.opened is None else _in_group)(state, key, shown)


def _typed(state: ScreenState, key: str) -> ScreenState:
    match key:
        case "enter":
            return replace(state, is_typing=False)
        case "escape":
            return replace(state, is_typing=False, text="")
        case "backspace":
            return replace(state, text=state.text[:-1])
        case _ if len(key) == 1 and len(state.text) < LONGEST_FILTER:
            return replace(state, text=state.text + key)
        case _:
            return state


def _in_list(state: ScreenState, key: str, shown: Shown) -> ScreenState:
    if key in SORT_KEYS:
        return replace(state, sort=SORT_KEYS[key], is_reversed=False, selected=None)
    match key:
        case "R":
            return replace(state, is_reversed=not state.is_reversed)
        case "/":
            return replace(state, is_typing=True)
        case "escape":
            return replace(state, text="")
        case _:
            return _at_cursor(state, key, shown) if shown.group_ids else state


def _at_cursor(state: ScreenState, key: str, shown: Shown) -> ScreenState:
    place, last = shown.place_of(state.selected), len(shown.group_ids) - 1
    if key == ENTER:
        opened = shown.group_ids[place]
        return replace(state, selected=opened, opened=opened, first_line=0)
    if key in _MOVES:
        moved = _MOVES[key](place, shown.page, last)
        return replace(state, selected=shown.group_ids[min(max(0, moved), last)])
    return state


def _in_group(state: ScreenState, key: str, shown: Shown) -> ScreenState:
    if key in {ESCAPE, BACKSPACE}:
        return replace(state, opened=None, first_line=0)
    if key in _MOVES and key != END:
        return replace(state, first_line=max(0, _MOVES[key](state.first_line, shown.page, state.first_line)))
    return state


_MOVES: Final[Mapping[str, Callable[[int, int, int], int]]] = {
    UP: lambda place, _page, _last: place - 1,
    "k": lambda place, _page, _last: place - 1,
    DOWN: lambda place, _page, _last: place + 1,
    "j": lambda place, _page, _last: place + 1,
    PAGE_UP: lambda place, page, _last: place - page,
    PAGE_DOWN: lambda place, page, _last: place + page,
    HOME: lambda _place, _page, _last: 0,
    END: lambda _place, _page, last: last,
}
"""Where a key goes from a place, with so many places to a page, and that last one."""
