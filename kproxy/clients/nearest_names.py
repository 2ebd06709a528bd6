"""What to say beside a name that is not known: those that it may have been meant for. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from kproxy.clients.tables import cell_text

_SHOWN: Final = 5
_MOST_COMPARED: Final = 10_000
_LONGEST_COMPARED: Final = 256


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known names that look like `name`, or else the first ones in their order.

    Of very many names the first 10,000 are compared.
    """
    names = sorted(set(map(cell_text, known)))
    if not names:
        return "there is none so far"
    candidates = [each for each in names[:_MOST_COMPARED] if len(each) <= _LONGEST_COMPARED]
    close = get_close_matches(name[:_LONGEST_COMPARED], candidates, n=_SHOWN)
    if close:
        return f"nearest: {', '.join(close)}"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:_SHOWN])}{more}"
