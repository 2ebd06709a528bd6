"""One row of the table of keys, as a field of the class that the rest of kproxy reads."""

from dataclasses import field
from typing import TypeVar

from kproxy.settings.value_kinds import ValueKind

T = TypeVar("T")


def key_row(name: str, kind: ValueKind[T], default: str, doc: str) -> T:
    """Return the field of the key `name`; `default` is written as a configuration file would say it."""
    metadata = {"name": name, "kind": kind, "doc": doc}
    return field(default_factory=lambda: kind.parse(default), metadata=metadata)
