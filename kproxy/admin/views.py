"""What the admin port shows: plain view dataclasses, and their JSON form. Pure.

Every answer is `{"apiVersion": "kproxy/v1", "kind": …, "asOf": …, "items": […]}`, keys in camelCase, offsets
and counts as numbers, times in UTC as ISO 8601. A view class is an interface: fields are added, never
renamed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from kproxy.admin.readiness import CheckResult

API_VERSION: Final = "kproxy/v1"

JsonObject = dict[str, object]


class ProxyState(StrEnum):
    """Where a process is in its life."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A backing broker's node id with two addresses as HOST:PORT: what clients are told, and its own."""

    node_id: int
    advertised: str
    upstream: str


@dataclass(frozen=True, slots=True)
class ShareGroupsView:
    """Whether share APIs are served; `reason` says why, or why not."""

    is_enabled: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ProxyStatus:
    """The one item of `/api/v1/status`. `bootstrap` is HOST:PORT; `connections_open` counts clients only."""

    version: str
    state: ProxyState
    cluster_id: str
    bootstrap: str
    brokers: Sequence[BrokerView]
    share_groups: ShareGroupsView
    connections_open: int
    uptime_seconds: float


def item(view: ProxyStatus) -> JsonObject:
    """Return a view as JSON: its fields in camelCase, views within it likewise."""
    return {camel_case(name): _json(value) for name, value in asdict(view).items()}


def envelope(kind: str, items: Sequence[Mapping[str, object]], *, as_of_ms: int) -> JsonObject:
    """Return the object that every endpoint answers with. `as_of_ms` counts from the epoch."""
    return {"apiVersion": API_VERSION, "kind": kind, "asOf": iso_time(as_of_ms), "items": list(items)}


def readiness_items(results: Sequence[CheckResult]) -> list[JsonObject]:
    """Return one item per check, in the order given."""
    return [
        {"check": result.check, "passed": result.is_passed, "detail": result.detail} for result in results
    ]


def iso_time(epoch_ms: int) -> str:
    """Return an instant as ISO 8601 in UTC with milliseconds, such as `2026-11-21T12:00:00.000Z`."""
    seconds, milliseconds = divmod(epoch_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def camel_case(name: str) -> str:
    """Return a snake_case name in camelCase; the `is_` of a boolean goes, as Kafka's tools have it."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name.removeprefix("is_"))


def _json(value: object) -> object:
    if isinstance(value, Mapping):
        return {camel_case(str(name)): _json(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(member) for member in value]
    return value
