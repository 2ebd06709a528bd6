"""What a request asks for: its parameters, checked."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kproxy.errors import KproxyError
from kproxy.share.record_state import RecordState

_MAX_NUMBER: Final = 2**31 - 1
_NAMES_SHOWN: Final = 10


class RefusedQuery(KproxyError):
    """A request that cannot be answered. Raised by the endpoints of the admin port, which answers `status`."""

    status = 400


class NothingThere(RefusedQuery):
    """What the request asks for does not exist. Raised and told likewise.

    Args:
        message: what is missing; a sentence that goes on with `names` where there are any to be given.
        names: what there is of the kind that was asked for; None where that is not said.
        depth: how much of what was asked for is there: of two processes the one that knows more says what is missing.
    """

    status = 404

    def __init__(self, message: str, *, names: Iterable[str] | None = None, depth: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.names = None if names is None else frozenset(names)
        self.depth = depth

    def __str__(self) -> str:
        return self.message if self.names is None else f"{self.message}; there {_listed(self.names)}"


def missing_everywhere(missing: Collection[NothingThere]) -> NothingThere:
    """Return what is missing where several processes, one at least, have nothing of what was asked for."""
    deepest = max(missing, key=lambda each: each.depth)
    alike = [each.names for each in missing if each.depth == deepest.depth and each.names is not None]
    names = frozenset[str]().union(*alike) if alike else None
    return NothingThere(deepest.message, names=names, depth=deepest.depth)


def parameters(given: Iterable[tuple[str, str]], known: Collection[str] = ()) -> Mapping[str, str]:
    """Return the parameters `given` by name. Raises RefusedQuery when one is not `known`, or is given twice."""
    found: dict[str, str] = {}
    for name, value in given:
        if name not in known:
            choice = f"known: {', '.join(known)}" if known else "there are none here"
            raise RefusedQuery(f"unknown query parameter {name!r}; {choice}")
        if name in found:
            raise RefusedQuery(f"query parameter {name!r} is given more than once")
        found[name] = value
    return found


def number(name: str, text: str) -> int:
    """Return a partition number. Raises RefusedQuery unless `text` is a number from 0 to 2147483647."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_NUMBER))
    if not is_number or int(text) > _MAX_NUMBER:
        raise RefusedQuery(f"{name}={text!r}: expected a number from 0 to {_MAX_NUMBER}")
    return int(text)


def record_state(name: str, text: str) -> str:
    """Return the state of records in flight, in whatever case. Raises RefusedQuery for other words."""
    states = [state.name.lower() for state in RecordState]
    if text.lower() not in states:
        raise RefusedQuery(f"{name}={text!r}: expected {', '.join(states[:-1])} or {states[-1]}")
    return text


def truth(name: str, text: str) -> bool:
    """Return what a parameter says. Raises RefusedQuery unless `text` is true or false."""
    if text not in {"true", "false"}:
        raise RefusedQuery(f"{name}={text!r}: expected true or false")
    return text == "true"


def _listed(names: Collection[str]) -> str:
    """Return the end of a sentence that begins with "there"."""
    if not names:
        return "is none so far"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"{'is' if len(names) == 1 else 'are'} {', '.join(sorted(names)[:_NAMES_SHOWN])}{more}"
