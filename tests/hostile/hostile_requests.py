"""Makes hostile requests of a schema: one for each array, each string, and the tags of an API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.wire import codecs
from kproxy.wire.codecs import Message
from kproxy.wire.decode_emitter import FEWER_REQUEST_ELEMENTS, LARGEST_REQUEST_ELEMENTS
from kproxy.wire.message_schema import FieldSchema, MessagePart
from tests.worlds.message_values import is_flexible

MOST_BYTES: Final = 8 * 1024 * 1024 - 4096
"""Just below what is held of a request."""

LONGEST_STRING: Final = 32_767
SPARE_ELEMENTS: Final = 16
"""Of the elements that a request may have: those that lead to the array in question."""

NUMBERS_OF_ONE: Final = 20
ALLOWANCE_BYTES: Final = 64 * 1024
"""Of memory, whatever the request."""

SERVED: Final[Mapping[int, tuple[int, int]]] = {
    76: (1, 1), 77: (1, 1), 78: (1, 2), 79: (1, 2), 83: (0, 0), 84: (0, 0), 85: (0, 1), 86: (0, 0), 87: (0, 1),
    90: (0, 1), 91: (0, 0), 92: (0, 0),
}  # fmt: skip

_LOOKED_INTO: Final = frozenset({Disposition.SERVE, Disposition.EXAMINE, Disposition.GUARD})
_VALUES: Final[Mapping[str, Any]] = {
    "group_id": "workers",
    "member_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "group_instance_id": None,
    "resource_type": 32,
    "key_type": 2,
    "acknowledge_types": 1,
    "member_epoch": 0,
    "topic_id": b"topic-id-wide...",
    "name": "wide",
    "topic_name": "wide",
}
_DEFAULTS: Final[Mapping[str, Any]] = {
    "bool": False,
    "float64": 0.0,
    "uuid": bytes(16),
    "string": "",
    "bytes": b"",
}


@dataclass(frozen=True, slots=True)
class Hostile:
    """A request of an API. `name` says what is large about it, `element_count` how many elements it was given."""

    api_key: int
    version: int
    name: str
    message: Message
    element_count: int

    @property
    def frame(self) -> bytes:
        """The whole request, with its length."""
        return b"".join(codecs.encode_request(self.api_key, self.version, 7, "hostile", self.message))


def looked_into() -> list[tuple[int, int]]:
    """Return every API that is held, with the newest version that there is of it."""
    newest: dict[int, int] = {}
    for (api_key, version), disposition in RoutingTable(SERVED).rows().items():
        if disposition in _LOOKED_INTO and version <= codecs.valid_versions(api_key)[1]:
            newest[api_key] = max(version, newest.get(api_key, 0))
    return sorted(newest.items())


def hostile_requests(
    api_key: int, version: int, *, most_elements: int = LARGEST_REQUEST_ELEMENTS, is_bounded: bool = True
) -> Iterator[Hostile]:
    """Yield the requests of an API, each with one thing as large as it may be; beyond that when not `is_bounded`."""
    message_class = codecs.request_class(api_key)
    if is_bounded:
        most_elements = min(most_elements, FEWER_REQUEST_ELEMENTS.get(api_key, most_elements))
    for path, field in _fields_of(message_class, version):
        if field.is_array:
            making = _Making(version, path, _count_for(field, most_elements))
            yield Hostile(api_key, version, path, making.part(message_class), making.count)
        elif field.wire_type == "string":
            message = _Making(version, path, 1).part(message_class)
            yield Hostile(api_key, version, f"a long {path}", message, 1)
    if is_flexible(message_class, version):
        message = _Making(version, "", 0).part(message_class)
        count = (most_elements - SPARE_ELEMENTS) // 2
        message.unknown_tagged_fields = tuple((1_000 + tag, b"") for tag in range(count))
        yield Hostile(api_key, version, "tags", message, count)


def _count_for(field: FieldSchema, most_elements: int) -> int:
    count = most_elements - SPARE_ELEMENTS
    if _is_number(field):
        count = min(count * NUMBERS_OF_ONE, MOST_BYTES // 8)
    return count


def _is_number(field: FieldSchema) -> bool:
    return field.struct is None and field.wire_type not in {"string", "bytes"}


def _fields_of(part: type[MessagePart], version: int, above: str = "") -> Iterator[tuple[str, FieldSchema]]:
    for field in part.SCHEMA.fields:
        if version in field.versions:
            yield above + field.name, field
            if field.struct is not None:
                yield from _fields_of(field.struct, version, f"{above}{field.name}.")


class _Making:
    def __init__(self, version: int, path: str, count: int) -> None:
        self._version = version
        self._path = path
        self.count = count

    def part(self, part: type[MessagePart], above: str = "", number: int = 0) -> Any:
        present = [field for field in part.SCHEMA.fields if self._version in field.versions]
        return part(**{field.name: self._value(field, above, number) for field in present})

    def _value(self, field: FieldSchema, above: str, number: int) -> Any:
        path = above + field.name
        if field.is_array:
            leads_on = self._path == path or self._path.startswith(f"{path}.")
            count = self.count if self._path == path else int(leads_on)
            return [self._single(field, path, each) for each in range(count)]
        if self._path == path:
            return "x" * LONGEST_STRING
        return self._single(field, path, number)

    def _single(self, field: FieldSchema, path: str, number: int) -> Any:
        if field.struct is not None:
            return self.part(field.struct, f"{path}.", number)
        if field.name in _VALUES and number == 0:
            return _VALUES[field.name]
        if field.name == "topic_id":
            return number.to_bytes(16)
        if field.wire_type == "string":
            return f"{field.name[:1]}{number}"
        if field.name in {"partition_index", "partition", "partitions", "first_offset", "last_offset"}:
            return number
        return _VALUES.get(field.name, _DEFAULTS.get(field.wire_type, 0))
