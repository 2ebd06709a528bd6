"""What a request asks for: its parameters, checked."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kproxy.errors import KproxyError

_MAX_NUMBER: Final = 2**31 - 1


class RefusedQuery(KproxyError):
    """A request that cannot be answered. Raised by the endpoints of the admin port, which answers `status`."""

    status = 400


class NothingThere(RefusedQuery):
    """What the request asks for does not exist. Raised and told likewise."""

    status = 404


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


def truth(name: str, text: str) -> bool:
    """Return what a parameter says. Raises RefusedQuery unless `text` is true or false."""
    if text not in {"true", "false"}:
        raise RefusedQuery(f"{name}={text!r}: expected true or false")
    return text == "true"
