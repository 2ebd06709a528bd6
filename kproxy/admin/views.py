"""What the admin port shows: plain view dataclasses, and their JSON form. Pure.

Every answer is `{"apiVersion": "kproxy/v1", "kind": …, "asOf": …, "items": […]}`, keys in camelCase, offsets
and counts as numbers, times in UTC as ISO 8601. A view class is an interface: fields are added, never
renamed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from kproxy.admin.fleet_views import FleetView
from kproxy.admin.readiness import CheckResult
from kproxy.notation import camel_case, iso_time

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

API_VERSION: Final = "kproxy/v1"

JsonObject = dict[str, object]


class ProxyState(StrEnum):
    """Where a process is in its life."""

    STARTING = "starting"
    READY = "ready"
    NOT_READY = "not-ready"
    """It was ready, and something is wrong: `problems` says what."""
    DRAINING = "draining"


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A backing broker's node id with two addresses as HOST:PORT: what clients are told, and its own.

    `is_listed` tells whether the cluster names it now: false as of a broker that is down.
    """

    node_id: int
    advertised: str
    upstream: str
    is_listed: bool = True


class ShareGroupsState(StrEnum):
    """Whether share groups are served."""

    ON = "on"
    UNAVAILABLE = "unavailable"
    """Not now, or not by this process any more; clients are told to try again."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ShareGroupsView:
    """Whether share APIs are served; `reason` says why not. `is_enabled` is true while `state` is ON.

    `delivery_count_limit` is how often a record of any group is delivered at most. `authorized_by` is what says who may
    do what: `acls`, `operations`, `none` where there is no authorizer, empty while nobody knows.
    """

    is_enabled: bool
    state: ShareGroupsState
    reason: str
    delivery_count_limit: int
    authorized_by: str = ""


@dataclass(frozen=True, slots=True)
class ProblemView:
    """A check of `/readyz` that does not pass, and what is wrong."""

    check: str
    detail: str


@dataclass(frozen=True, slots=True)
class CertificateView:
    """A file of certificates in use, by its role: `listener`, `upstream`, or either with `_trust`.

    `not_after` is when the first certificate of the file expires, `days_left` how many whole days that is from now.
    """

    role: str
    file: str
    subject: str
    not_after: str
    days_left: int


@dataclass(frozen=True, slots=True)
class MemoryView:
    """What connections hold, and may hold together, in bytes; `source` says where the limit comes from."""

    held_bytes: int
    max_buffered_bytes: int
    source: str


@dataclass(frozen=True, slots=True)
class BackingClusterView:
    """Where the backing cluster is, as `-b` takes it, and what the two topics of the state log are called there.

    `security_protocol` is how kproxy itself reaches it, by its Kafka name; nothing tells with what.
    """

    bootstrap_servers: str
    state_topic: str
    groups_topic: str
    security_protocol: str


@dataclass(frozen=True, slots=True)
class ProxyStatus:
    """The one item of `/api/v1/status`. `bootstrap` is HOST:PORT; `connections_open` counts clients only.

    `commit` is what this kproxy was made of, ending in `-dirty` with changes to it; empty where nobody knows.

    `problems` are those of the whole process; what is wrong with single slots stands in `/readyz`. `fleet` is None
    where share groups are off.
    """

    version: str
    commit: str
    state: ProxyState
    cluster_id: str
    bootstrap: str
    brokers: Sequence[BrokerView]
    share_groups: ShareGroupsView
    connections_open: int
    uptime_seconds: float
    memory: MemoryView
    problems: Sequence[ProblemView] = ()
    fleet: FleetView | None = None
    tls_bootstrap: str = ""
    """HOST:PORT of the bootstrap port with TLS beside the one in plaintext; empty where there is none."""
    certificates: Sequence[CertificateView] = ()
    backing_cluster: BackingClusterView | None = None
    """None only where nobody says."""
    warnings: Sequence[ProblemView] = ()
    """What keeps nobody from being served by this process as a whole, and somebody has to look at all the same."""


def item(view: "DataclassInstance") -> JsonObject:
    """Return a view as JSON: its fields in camelCase, views within it likewise."""
    return {name: _json(getattr(view, field)) for field, name in _names(type(view))}


def envelope(kind: str, items: Sequence[Mapping[str, object]], *, as_of_ms: int) -> JsonObject:
    """Return the object that every endpoint answers with. `as_of_ms` counts from the epoch."""
    return {**_head(kind, as_of_ms), "items": list(items)}


def envelope_of_texts(
    kind: str,
    texts: Iterable[str],
    *,
    as_of_ms: int,
    facts: Mapping[str, object] | None = None,
    at_end: Callable[[], Mapping[str, object]] = dict,
) -> Iterator[str]:
    """Yield the text of an `envelope` piece by piece, one item a line; an item, JSON text, is asked for when it is due.

    `facts` stand between `asOf` and `items`, what `at_end` returns once all items were told behind these; their names
    are in camelCase already.
    """
    head = {**_head(kind, as_of_ms), **(facts or {})}
    yield from _with_list(head, "items", texts, at_end)
    yield "\n"


def envelope_of_one(
    kind: str,
    facts: Mapping[str, object],
    lists: Mapping[str, Iterable[Mapping[str, object]]],
    *,
    as_of_ms: int,
    beside: Mapping[str, object] | None = None,
) -> Iterator[str]:
    """Yield the text of an `envelope` with one item: `facts`, at least one, and as its last fields `lists` by name.

    What is in the lists is asked for when it is due. `beside` stands between `asOf` and `items`.
    """
    head = json.dumps({**_head(kind, as_of_ms), **(beside or {})})
    yield f'{head.removesuffix("}")}, "items": [\n'
    yield json.dumps(facts).removesuffix("}")
    for name, parts in lists.items():
        yield f', "{name}": ['
        yield from _separated(map(json.dumps, parts))
        yield "\n]"
    yield "}\n]}\n"


def readiness_items(results: Sequence[CheckResult]) -> list[JsonObject]:
    """Return one item per check, in the order given."""
    return [
        {"check": result.check, "passed": result.is_passed, "detail": result.detail} for result in results
    ]


def _with_list(
    facts: Mapping[str, object],
    name: str,
    texts: Iterable[str],
    at_end: Callable[[], Mapping[str, object]] = dict,
) -> Iterator[str]:
    """Yield the text of an object of `facts`, at least one, and behind them a list whose members are `texts`."""
    yield f'{json.dumps(facts).removesuffix("}")}, "{name}": ['
    yield from _separated(texts)
    more = at_end()
    yield f"\n], {json.dumps(more).removeprefix('{')}" if more else "\n]}"


def _separated(texts: Iterable[str]) -> Iterator[str]:
    separator = "\n"
    for text in texts:
        yield f"{separator}{text}"
        separator = ",\n"


def _head(kind: str, as_of_ms: int) -> JsonObject:
    return {"apiVersion": API_VERSION, "kind": kind, "asOf": iso_time(as_of_ms)}


_PLAIN: Final = frozenset({int, str})


@cache
def _names(view_class: "type[DataclassInstance]") -> tuple[tuple[str, str], ...]:
    return tuple((field.name, camel_case(field.name)) for field in fields(view_class))


def _json(value: object) -> object:
    if isinstance(
        value, (list, tuple)
    ):  # of a hundred thousand numbers, where a member has as many partitions
        return [member if type(member) in _PLAIN else _json(member) for member in value]
    if is_dataclass(value) and not isinstance(value, type):
        return item(value)
    return value
