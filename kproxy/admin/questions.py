"""`Question`: what the admin port is asked about the whole fleet or one process, checked before anybody looks."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from kproxy.admin.queries import NothingThere, RefusedQuery, number, parameters, record_state, truth

_END: Final = "end"
_SCOPES: Final = ("fleet", "local")


class Endpoint(StrEnum):
    """The paths. What stands in braces is the place that is asked about."""

    BROKERS = "/api/v1/brokers"
    GROUPS = "/api/v1/groups"
    GROUP = "/api/v1/groups/{place}"
    SESSIONS = "/api/v1/sessions"
    IN_FLIGHT = "/api/v1/in-flight"
    STATE_LOG = "/api/v1/state-log"
    SLOT_STATES = "/api/v1/state-log/{place}/state"


_PARAMETERS: Final[Mapping[Endpoint, tuple[str, ...]]] = {
    Endpoint.BROKERS: (),
    Endpoint.GROUPS: ("lag",),
    Endpoint.GROUP: ("lag",),
    Endpoint.SESSIONS: ("group", "member"),
    Endpoint.IN_FLIGHT: ("group", "topic", "partition", "state", "member", "deliveries", "held"),
    Endpoint.STATE_LOG: (),
    Endpoint.SLOT_STATES: ("at",),
}


@dataclass(frozen=True, slots=True)
class Question:
    """One request. `wanted` are its parameters by name but for `scope`; `is_local` asks for this process alone."""

    endpoint: Endpoint
    place: str = ""
    wanted: Mapping[str, str] = field(default_factory=dict)
    is_local: bool = False

    @property
    def has_lag(self) -> bool:
        """Whether brokers are to be asked how much lies before groups: `groups` and `groups/{g}` alone."""
        about_lag = self.endpoint in {Endpoint.GROUPS, Endpoint.GROUP}
        return about_lag and self.wanted.get("lag", "true") == "true"

    @property
    def is_about_slots(self) -> bool:
        """Whether the answer may be less than the truth when slots of the state log are not served."""
        return self.endpoint not in {Endpoint.BROKERS, Endpoint.STATE_LOG}

    @property
    def group_id(self) -> str | None:
        """The one group that it is about; None for any."""
        return self.place if self.endpoint is Endpoint.GROUP else self.wanted.get("group")

    @property
    def slot(self) -> int | None:
        """The one slot whose states are asked for."""
        return int(self.place) if self.endpoint is Endpoint.SLOT_STATES else None

    def of_this_process(self) -> "Question":
        """Return the same question about one process alone."""
        return replace(self, is_local=True)

    def path_for_peer(self) -> str:
        """Return the path that asks another process for what it holds itself."""
        query = urlencode({**self.wanted, "scope": "local"})
        return f"{self.endpoint.format(place=quote(self.place, safe=''))}?{query}"


def question(endpoint: Endpoint, place: str, given: Iterable[tuple[str, str]]) -> Question:
    """Return what a path asks with the parameters `given`. Raises RefusedQuery for what makes no sense."""
    wanted = dict(parameters(given, (*_PARAMETERS[endpoint], "scope")))
    is_local = not _is_of_fleet(wanted.pop("scope", "fleet"))
    for name, value in wanted.items():
        _CHECKS.get(name, _accept)(name, value)
    if endpoint is Endpoint.SLOT_STATES:
        place = str(number("partition", place))
    return Question(endpoint, place, wanted, is_local=is_local)


def is_of_fleet(given: Iterable[tuple[str, str]]) -> bool:
    """Return whether what has no parameter but `scope` is asked of the fleet. Raises RefusedQuery for other ones."""
    return _is_of_fleet(parameters(given, ("scope",)).get("scope", "fleet"))


def question_of(path: str) -> Question:
    """Return what a path with its query asks, as `Question.path_for_peer` makes it.

    Raises:
        NothingThere: there is no such path.
        RefusedQuery: a parameter makes no sense.
    """
    parts = urlsplit(path)
    for endpoint in Endpoint:
        found = re.fullmatch(endpoint.replace("{place}", "([^/]+)"), parts.path)
        if found is not None:
            place = unquote(found.group(1)) if found.groups() else ""
            return question(endpoint, place, parse_qsl(parts.query, keep_blank_values=True))
    raise NothingThere(f"there is nothing at {parts.path!r}")


def _is_of_fleet(scope: str) -> bool:
    if scope not in _SCOPES:
        raise RefusedQuery(f"scope={scope!r}: expected {' or '.join(_SCOPES)}")
    return scope == "fleet"


def _require_end(name: str, text: str) -> None:
    if text != _END:
        raise RefusedQuery(f"{name}={text!r}: expected {_END}")


def _accept(_name: str, _text: str) -> None:
    """Any text may be a name."""


_CHECKS: Final[Mapping[str, Callable[[str, str], object]]] = {
    "lag": truth,
    "partition": number,
    "state": record_state,
    "deliveries": number,
    "held": number,
    "at": _require_end,
}
