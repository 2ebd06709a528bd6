"""Which keys the bytes are that a terminal sends. Pure."""

from collections.abc import Mapping
from typing import Final

ENTER: Final = "enter"
ESCAPE: Final = "escape"
BACKSPACE: Final = "backspace"
UP, DOWN, PAGE_UP, PAGE_DOWN = "up", "down", "page-up", "page-down"
HOME: Final = "home"
END: Final = "end"

_SEQUENCES: Final[Mapping[str, str]] = {
    "\x1b[A": UP,
    "\x1bOA": UP,
    "\x1b[B": DOWN,
    "\x1bOB": DOWN,
    "\x1b[5~": PAGE_UP,
    "\x1b[6~": PAGE_DOWN,
    "\x1b[H": HOME,
    "\x1bOH": HOME,
    "\x1b[1~": HOME,
    "\x1b[F": END,
    "\x1bOF": END,
    "\x1b[4~": END,
}
_SINGLE: Final[Mapping[str, str]] = {
    "\r": ENTER,
    "\n": ENTER,
    "\x7f": BACKSPACE,
    "\x08": BACKSPACE,
    "\x1b": ESCAPE,
}
_INTRODUCERS: Final = ("\x1b[", "\x1bO")


def keys_in(text: str) -> list[str]:
    """Return the keys of what was read at once: a name of this module, or the character itself.

    A sequence that is none of these is passed over, and so is any other character that cannot be printed.
    """
    found: list[str] = []
    while text:
        key, length = _first(text)
        if key is not None:
            found.append(key)
        text = text[length:]
    return found


def _first(text: str) -> tuple[str | None, int]:
    """Return the first key, None for nothing of use, and how many characters it is."""
    if text.startswith(_INTRODUCERS):
        length = _sequence_length(text)
        return _SEQUENCES.get(text[:length]), length
    first = text[0]
    return _SINGLE.get(first, first if first.isprintable() else None), 1


def _sequence_length(text: str) -> int:
    """Return how long the sequence is that `text` begins with: up to its first character from @ to ~."""
    for place, character in enumerate(text[2:], start=3):
        if "@" <= character <= "~":
            return place
    return len(text)
