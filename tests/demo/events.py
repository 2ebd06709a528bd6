"""What the processes of the demo tell the one that watches them: one JSON object a line. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, TypeAlias

from tests.demo.jobs import JobKind
from tests.demo.ledger import DeliveryId, Outcome, RecordId


class ProducedRecord(NamedTuple):
    """A record that the brokers have, and what it asks for."""

    record: RecordId
    kind: JobKind


@dataclass(frozen=True, slots=True)
class Produced:
    """The producer was told that these records are stored."""

    records: Sequence[ProducedRecord]


@dataclass(frozen=True, slots=True)
class Delivered:
    """A poll gave these records to a member."""

    deliveries: Sequence[DeliveryId]


@dataclass(frozen=True, slots=True)
class Settled:
    """Deliveries of a member ended."""

    outcome: Outcome
    deliveries: Sequence[DeliveryId]
    error: str | None
    """What the acknowledgement was answered with; None for no error."""


@dataclass(frozen=True, slots=True)
class FellAsleep:
    """A member holds the records of its last poll and does nothing for `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Woke:
    """A member goes on."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a process that did all it had to."""


Event: TypeAlias = Produced | Delivered | Settled | FellAsleep | Woke | Finished

_CLASSES: Final[dict[str, type[Event]]] = {
    "produced": Produced,
    "delivered": Delivered,
    "settled": Settled,
    "fell_asleep": FellAsleep,
    "woke": Woke,
    "finished": Finished,
}
_NAMES: Final = {event_class: name for name, event_class in _CLASSES.items()}


def encode(event: Event) -> str:
    """The line that says this, without its end."""
    contents = {field.name: getattr(event, field.name) for field in fields(event)}
    return json.dumps({"event": _NAMES[type(event)], **contents}, separators=(",", ":"))


def parse(line: str | bytes) -> Event:
    """The event that a line says; raises `ValueError` or `KeyError` for a line that says none."""
    contents: dict[str, Any] = json.loads(line)
    event_class = _CLASSES[contents.pop("event")]
    if event_class is Produced:
        return Produced([_produced_record(*row) for row in contents["records"]])
    if "deliveries" in contents:
        contents["deliveries"] = [_delivery_id(*row) for row in contents["deliveries"]]
    if "outcome" in contents:
        contents["outcome"] = Outcome(contents["outcome"])
    return event_class(**contents)


def _produced_record(record: Sequence[int], kind: str) -> ProducedRecord:
    return ProducedRecord(RecordId(*record), JobKind(kind))


def _delivery_id(record: Sequence[int], delivery_count: int) -> DeliveryId:
    return DeliveryId(RecordId(*record), delivery_count)
