"""How long ago, for people: two units at most, and no spaces, so that `awk` reads columns."""

from typing import Final

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


def age_text(age_ms: int | None, *, is_exact: bool = True) -> str | None:
    """Return an age as `4.2s`, `5m03s`, `2h05m` or `3d04h`, rounded down; with `>` before it if it is a lower bound."""
    if age_ms is None:
        return None
    return ("" if is_exact else ">") + _text(age_ms)


def _text(age_ms: int) -> str:
    seconds = age_ms // 1000
    smaller = ("h", 3_600), ("m", 60), ("s", 1)
    for (unit, length), (lesser, of_lesser) in zip(_UNITS, smaller, strict=True):
        if seconds >= length:
            return f"{seconds // length}{unit}{seconds % length // of_lesser:02d}{lesser}"
    return f"{seconds}.{age_ms % 1000 // 100}s"
