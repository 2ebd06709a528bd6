"""How often the same thing may be said. Pure: time is an argument."""

from dataclasses import dataclass
from typing import Final

Identity = tuple[str, ...]

WINDOW_S: Final = 10.0
"""The length of a window, in seconds."""

BURST: Final = 20
"""Events with one identity that a window lets through."""

MOST_IDENTITIES: Final = 1000
"""Identities that are remembered; beyond it, everything is let through and the memory starts anew."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether an event may be written, and how many before it were not and have not been reported yet."""

    is_admitted: bool
    suppressed_count: int


@dataclass(frozen=True, slots=True)
class Suppression:
    """Events that were held back and that nothing written so far has mentioned."""

    identity: Identity
    count: int


class _Window:
    __slots__ = ("admitted_count", "end_s", "suppressed_count")

    def __init__(self, end_s: float) -> None:
        self.end_s = end_s
        self.admitted_count = 0
        self.suppressed_count = 0


class RepetitionLimit:
    """Lets the first `BURST` events of each identity through in each window of `WINDOW_S` seconds.

    A window begins with the first event after the one before it ended.
    """

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        self._windows: dict[Identity, _Window] = {}

    def admit(self, identity: Identity, now_s: float) -> Admission:
        """Decide on one event that happens at `now_s` (any clock that does not go back by much)."""
        window = self._windows.get(identity)
        if window is None or now_s >= window.end_s:
            return self._open(identity, now_s)
        if window.admitted_count < BURST:
            window.admitted_count += 1
            return Admission(is_admitted=True, suppressed_count=0)
        window.suppressed_count += 1
        return Admission(is_admitted=False, suppressed_count=0)

    def take_suppressions(self) -> list[Suppression]:
        """Return what was held back and not reported yet, and forget everything."""
        windows, self._windows = self._windows, {}
        return [
            Suppression(identity, window.suppressed_count)
            for identity, window in windows.items()
            if window.suppressed_count
        ]

    def _open(self, identity: Identity, now_s: float) -> Admission:
        before = self._windows.pop(identity, None)
        if len(self._windows) >= MOST_IDENTITIES:
            self._windows.clear()
        window = self._windows[identity] = _Window(now_s + WINDOW_S)
        window.admitted_count = 1
        return Admission(is_admitted=True, suppressed_count=before.suppressed_count if before else 0)
