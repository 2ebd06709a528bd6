"""Answers as text: every field that is not what the schema has by default, ids by the names the case gave them.

Two answers are alike when their texts are. What stands for a field that may differ between targets is listed here:

- topic ids, hosts and ports: the names of what they are;
- member, group and assignment epochs above 0: `N`, since kproxy assigns with the first heartbeat;
- error messages: whether there is one is not compared either, a code says what happened;
- lists of topics and partitions: sorted, for nobody is promised an order;
- timestamps in record batches: left out.
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

from kproxy.wire.message_schema import Message, MessagePart, default_values
from kproxy.wire.record_batches import batch_extents
from kproxy.wire.records import decode_records

NOT_COMPARED: Final = frozenset({"error_message", "acknowledge_error_message", "unknown_tagged_fields"})
EPOCHS: Final = frozenset({"member_epoch", "group_epoch", "assignment_epoch"})
SORTED: Final = frozenset(
    {"responses", "partitions", "topics", "topic_partitions", "groups", "members", "results", "configs"}
)
LONGEST_VALUE: Final = 12


def rendered(message: Message, names: Mapping[object, str]) -> str:
    """The text of an answer; `names` has the ids and addresses of the play."""
    kind = type(message).__name__.removesuffix("Response")
    return f"{kind}{_struct(message, names)}"


def _struct(part: MessagePart, names: Mapping[object, str]) -> str:
    defaults = default_values(type(part))
    fields = [each.name for each in dataclasses.fields(part)]  # type: ignore[arg-type]  # it is a dataclass
    shown = [
        f"{name}={_value(name, getattr(part, name), names)}"
        for name in fields
        if name not in NOT_COMPARED and not _is_default(getattr(part, name), defaults[name])
    ]
    return f"({', '.join(shown)})"


def _is_default(value: object, default: object) -> bool:
    if isinstance(value, memoryview):
        return not value
    return value == default


def _value(name: str, value: object, names: Mapping[object, str]) -> str:
    text = str(value)
    match value:
        case MessagePart():
            text = _struct(value, names)
        case list():
            texts = [_value(name, each, names) for each in value]
            text = f"[{', '.join(sorted(texts) if name in SORTED else texts)}]"
        case bytes() | memoryview() if name == "records":
            text = _records(value)
        case int() if name in EPOCHS and value > 0:
            text = "N"
        case bytes() | int() if name in {"port", "topic_id"}:
            text = names.get(value, text)
    return text


def _records(records: bytes | memoryview) -> str:
    """The batches: first and last offset, and the values of what is no control record."""
    view = memoryview(records)
    texts = []
    for batch in batch_extents(view):
        one = view[batch.position : batch.position + batch.size_bytes]
        values = "control" if batch.is_control else _values(one)
        texts.append(f"{batch.first_offset}..{batch.last_offset}:{values}")
    return f"<{' '.join(texts)}>"


def _values(batch: memoryview) -> str:
    values = [(record.value or b"").decode()[:LONGEST_VALUE] for record in decode_records(batch).records]
    return (
        ",".join(values) if len(values) <= 2 * LONGEST_VALUE else f"{values[0]}…{values[-1]}({len(values)})"
    )
