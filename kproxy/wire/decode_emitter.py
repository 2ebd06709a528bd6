"""Writes the decoding half of a codec: straight-line Python from a construct tree.

How it gets fast, and stays safe:

1. Neighbouring values of fixed width, and the first byte of a varint behind them, are a *run*: one
   `Struct.unpack_from` reads it into the attributes, and raises when the buffer ends first.
2. A varint below 128 is that first byte; only a longer one costs a call.
3. Every end that is computed from received numbers is compared with the size of the buffer before anything is
   sliced, since a slice past the end is short in silence. Array counts are compared before anything is
   allocated, or are below 128 and checked by `unpack_from`.
4. Objects are made by `object.__new__` and every attribute is set, which costs less than calling the class;
   names are local; a struct without tagged fields costs one test.

5. The elements of a request are counted, and too many refused before they are read. Several numbers in an array, and
   many tagged fields that no schema knows, stay packed (`codec_runtime`).

A message without records is copied into `bytes` first if it is not, because these are quicker to index; a
header, or a message with records, is read where it is, and its records are views.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from construct import Construct

from kproxy.errors import MalformedMessage
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codec_runtime import (
    MOST_LISTED_NUMBERS,
    PACKABLE,
    packed_numbers,
    tagged_field_head,
    unknown_tagged_fields,
)
from kproxy.wire.codec_source import CodecSource, spans_numbers
from kproxy.wire.length_prefixes import FixedLength
from kproxy.wire.message_schema import MessageSchema
from kproxy.wire.message_struct import (
    UNKNOWN_TAGGED_FIELDS,
    AbsentField,
    MessageStruct,
    TaggedField,
    TaggedFields,
)
from kproxy.wire.primitives import (
    MAXIMUM_STRING_BYTES,
    Array,
    FixedWidth,
    LengthPrefixed,
    Nullable,
    Records,
    String,
)
from kproxy.wire.varints import decode_varint

LARGEST_REQUEST_ELEMENTS: Final = 50_000
"""Structs and strings that all arrays of one request may have together; twenty numbers count for one, and a tagged
field that no schema knows for two.

Decoding cannot be interrupted, and costs some microseconds an element: a request of a few megabytes could name a
million partitions and hold up everybody else for seconds. A string takes a tenth of a struct's time, but an answer has
a struct for it.
"""

FEWER_REQUEST_ELEMENTS: Final[Mapping[int, int]] = {
    ApiKey.LIST_GROUPS: 1_000,
    ApiKey.LIST_CONFIG_RESOURCES: 1_000,
}
"""By API key, for requests that name nothing but kinds: states and types, of which there are some ten."""

_NUMBERS_OF_ONE: Final = 20
_ELEMENTS_OF_A_TAG: Final = 2


def most_elements_of(schema: MessageSchema) -> int | None:
    """Return how many elements a message may have; None where they are not counted."""
    if schema.kind not in {"request", "header"}:
        return None
    return FEWER_REQUEST_ELEMENTS.get(
        -1 if schema.api_key is None else schema.api_key, LARGEST_REQUEST_ELEMENTS
    )


class DecodeEmitter:
    """Writes `decode(buffer, position)`, which returns the message and the position after it.

    Most methods write the reading of one value into a `target`, a variable or an attribute. It is set once
    the run has been read.
    """

    def __init__(
        self, source: CodecSource, *, reads_in_place: bool, most_elements: int | None = None
    ) -> None:
        self._source: Final = source
        self._most_elements: Final = most_elements
        self._reads_in_place: Final = reads_in_place
        self._run: Final[list[tuple[str, str]]] = []
        self._path: Final[list[str]] = []
        for known in (
            MalformedMessage,
            decode_varint,
            tagged_field_head,
            unknown_tagged_fields,
            packed_numbers,
        ):
            source.constant(known.__name__, known)
        source.constant("new", object.__new__)

    def emit(self, tree: MessageStruct) -> None:
        """Write the whole function."""
        with self._source.block("def decode(buffer, position)"):
            if self._reads_in_place:
                self._source.line("view = memoryview(buffer)")
            else:
                with self._source.block("if type(buffer) is not bytes"):
                    self._source.line("buffer = bytes(buffer)")
            self._source.line("size = len(buffer)")
            if self._most_elements is not None:
                self._source.line(f"elements_left = {self._most_elements}")
            self._struct(tree, "message")
            self._read_run()
            self._source.line("return message, position")

    def _struct(self, tree: MessageStruct, variable: str) -> None:
        message_class = tree.message_class
        self._source.line(f"{variable} = new({self._source.constant(message_class.__name__, message_class)})")
        tagged_count: str | None = None
        for member, following in zip(tree.subcons, [*tree.subcons, None][1:], strict=True):
            match member:
                case AbsentField():
                    self._source.line(f"{variable}.{member.name} = {self._source.default(member.default)}")
                case TaggedFields():
                    self._tagged_fields(member, variable, tagged_count or self._first_byte("tagged_count"))
                case _:
                    reads_tags = isinstance(following, TaggedFields) and spans_numbers(member.subcon)
                    tagged_count = self._source.fresh("tagged_count") if reads_tags else None
                    self._member(member, f"{variable}.{member.name}", tagged_count)

    def _member(self, member: Construct, target: str, tagged_count: str | None) -> None:
        self._path.append(member.name)
        if spans_numbers(member.subcon):
            self._numbers(member.subcon, target, tagged_count)
        else:
            self._value(member.subcon, target)
        self._path.pop()

    def _value(self, construct: Construct, target: str) -> None:
        match construct:
            case FixedWidth():
                self._run.append((target, construct.code))
            case MessageStruct():
                self._nested(construct, target)
            case Nullable():
                self._nullable(construct, target)
            case LengthPrefixed():
                self._length_prefixed(construct, target)
            case _:
                raise AssertionError(f"no code for {construct!r}")

    def _nested(self, tree: MessageStruct, target: str) -> None:
        variable = self._source.fresh(_last_name(target))
        self._struct(tree, variable)
        self._source.line(f"{target} = {variable}")

    def _nullable(self, construct: Nullable, target: str) -> None:
        marker = self._source.fresh("marker")
        self._run.append((marker, "b"))
        self._read_run()
        with self._source.block(f"if {marker} == 1"):
            self._value(construct.subcon, target)
            self._read_run()
        with self._source.block(f"elif {marker} == -1"):
            self._source.line(f"{target} = None")
        with self._source.block("else"):
            self._raise(f"{{{marker}}} says neither null nor present")

    def _raise(self, reason: str) -> None:
        """Write the raising of MalformedMessage; `reason` is the inside of an f-string."""
        path = ".".join(self._path)
        self._source.line(f'raise MalformedMessage(f"{path}: {reason} at byte {{position}} of {{size}}")')

    # Runs

    def _read_run(self) -> None:
        targets = [target for target, _ in self._run]
        codes = "".join(code for _, code in self._run)
        self._run.clear()
        if codes == "B":
            self._source.line(f"{targets[0]} = buffer[position]")
            self._source.line("position += 1")
        elif codes:
            unpack = self._source.struct_method("unpack_from", codes)
            self._source.line(f"{', '.join(targets)}{',' * (len(targets) == 1)} = {unpack}(buffer, position)")
            self._source.line(f"position += {struct.calcsize(f'>{codes}')}")

    def _first_byte(self, name: str) -> str:
        """Write the reading of the run and of the first byte of a varint behind it; return the variable."""
        variable = self._source.fresh(name)
        self._run.append((variable, "B"))
        self._read_run()
        return variable

    def _varint(self, *, limit: str | None = None) -> str:
        """Write the reading of the run and of a varint behind it, at most `limit`; return the variable."""
        number = self._first_byte("number")
        with self._source.block(f"if {number} > 127"):
            self._source.line(f"{number}, position = decode_varint(buffer, position - 1)")
            if limit is not None:
                with self._source.block(f"if {number} > {limit}"):
                    self._raise(f"length {{{number}}}")
        return number

    # Values behind a length

    def _length_prefixed(self, construct: LengthPrefixed, target: str) -> None:
        """Write a value behind a number: its length, or one more as a varint; one less than empty is null."""
        if isinstance(construct.length, FixedLength):
            number, excess = self._fixed_number(construct.length), 0
        else:
            limit = str(MAXIMUM_STRING_BYTES + 1) if isinstance(construct, String) else None
            number, excess = self._varint(limit=limit), 1
        body = self._elements if isinstance(construct, Array) else self._content
        if not construct.is_nullable:
            body(construct, target, number, excess)
            return
        with self._source.block(f"if {number} == {excess - 1}"):
            self._source.line(f"{target} = None")
        with self._source.block("else"):
            body(construct, target, number, excess)

    def _fixed_number(self, length: FixedLength) -> str:
        number = self._source.fresh("number")
        self._run.append((number, length.code))
        self._read_run()
        return number

    def _content(self, construct: LengthPrefixed, target: str, number: str, excess: int) -> None:
        end = self._source.fresh("end")
        self._source.line(f"{end} = position + {number}{' - 1' * excess}")
        with self._source.block(f"if not position <= {end} <= size"):
            self._raise(f"length {{{end} - position}}")
        self._source.line(f"{target} = {self._slice(construct, end)}")
        self._source.line(f"position = {end}")

    def _slice(self, construct: LengthPrefixed, end: str) -> str:
        match construct:
            case String() if self._reads_in_place:
                return f'str(view[position:{end}], "utf-8")'
            case String():
                return f"buffer[position:{end}].decode()"
            case Records():
                return f"view[position:{end}]"
            case _:
                return f"bytes(buffer[position:{end}])"

    def _elements(self, construct: LengthPrefixed, target: str, number: str, excess: int) -> None:
        assert isinstance(construct, Array)
        if excess:
            self._source.line(f"{number} -= 1")
        room = f"{number} * {construct.minimum_element_size} > size - position"
        with self._source.block(f"if {number} < 0 or {room}"):
            self._raise(f"{{{number}}} elements")
        self._count_elements(number)
        elements, append, element = (
            self._source.fresh(name) for name in (_last_name(target), "append", "element")
        )
        self._source.line(f"{target} = {elements} = []")
        self._source.line(f"{append} = {elements}.append")
        with self._source.block(f"for _ in range({number})"):
            if isinstance(construct.element, MessageStruct):
                self._struct(construct.element, element)
            else:
                self._value(construct.element, element)
            self._read_run()
            self._source.line(f"{append}({element})")

    def _count_elements(self, number: str) -> None:
        if self._most_elements is not None:
            self._source.line(f"elements_left -= {number}")
            with self._source.block("if elements_left < 0"):
                self._raise(f"elements in one request: more than {self._most_elements}")

    # Arrays of numbers

    def _numbers(self, construct: Array, target: str, tagged_count: str | None) -> None:
        """Write an array of numbers, and of the tagged fields behind it the first byte if it has a name."""
        width = construct.element.minimum_size
        if isinstance(construct.length, FixedLength):
            number, empty = self._fixed_number(construct.length), 0
            with self._source.block(f"if {number} * {width} > size - position"):
                self._raise(f"{{{number}}} elements")
        else:
            number, empty = self._varint(limit=f"(size - position) // {width} + 1"), 1
        with self._source.block(f"if {number} > {empty}"):
            self._some_numbers(construct, target, f"{number}{' - 1' * empty}", tagged_count)
        with self._source.block(f"elif {number} == {empty}"):
            self._no_numbers(target, "[]", tagged_count)
        if construct.is_nullable:
            with self._source.block(f"elif {number} == {empty - 1}"):
                self._no_numbers(target, "None", tagged_count)
        with self._source.block("else"):
            self._raise(f"{{{number} - {empty}}} elements")

    def _some_numbers(self, construct: Array, target: str, count: str, tagged_count: str | None) -> None:
        code, width = construct.element.code, construct.element.minimum_size
        self._count_elements(f"({count}) // {_NUMBERS_OF_ONE}")
        table = self._source.array_methods("unpack_from", "", code, "B" if tagged_count else "")
        step = count if width == 1 else f"({count}) * {width}"
        if not (self._most_elements and code in PACKABLE):
            self._listed_numbers(f"{table}[{count}]", target, step, tagged_count)
            return
        with self._source.block(f"if {count} > {MOST_LISTED_NUMBERS}"):
            self._packed_numbers(code, target, step, tagged_count)
        with self._source.block("else"):
            self._listed_numbers(f"{table}[{count}]", target, step, tagged_count)

    def _packed_numbers(self, code: str, target: str, step: str, tagged_count: str | None) -> None:
        end = self._source.fresh("end")
        self._source.line(f"{end} = position + {step}")
        with self._source.block(f"if {end} > size"):
            self._raise(f"numbers up to byte {{{end}}}")
        self._source.line(f"{target} = packed_numbers(bytes(buffer[position:{end}]), {code!r})")
        self._source.line(f"position = {end}")
        if tagged_count:
            self._source.line(f"{tagged_count} = buffer[position]")
            self._source.line("position += 1")

    def _listed_numbers(self, unpack: str, target: str, step: str, tagged_count: str | None) -> None:
        numbers = self._source.fresh(_last_name(target))
        self._source.line(f"{target} = {numbers} = [*{unpack}(buffer, position)]")
        if tagged_count:
            self._source.line(f"{tagged_count} = {numbers}.pop()")
        self._source.line(f"position += {step}{' + 1' * bool(tagged_count)}")

    def _no_numbers(self, target: str, value: str, tagged_count: str | None) -> None:
        self._source.line(f"{target} = {value}")
        if tagged_count:
            self._source.line(f"{tagged_count} = buffer[position]")
            self._source.line("position += 1")

    # Tagged fields

    def _tagged_fields(self, construct: TaggedFields, variable: str, count: str) -> None:
        """Write the tagged fields; the first byte of their `count` has been read."""
        known = [(field, f"{variable}.{field.name}") for field in construct.known.values()]
        for field, target in known:
            self._source.line(f"{target} = {self._source.default(field.default)}")
        unknown = f"{variable}.{UNKNOWN_TAGGED_FIELDS}"
        with self._source.block(f"if {count}"):
            with self._source.block(f"if {count} > 127"):
                self._source.line(f"{count}, position = decode_varint(buffer, position - 1)")
            self._count_elements(f"{count} * {_ELEMENTS_OF_A_TAG}")
            if known:
                self._tagged_field_loop(known, count, unknown)
            else:
                self._source.line(f"{unknown}, position = unknown_tagged_fields(buffer, position, {count})")
        with self._source.block("else"):
            self._source.line(f"{unknown} = ()")

    def _tagged_field_loop(self, known: Sequence[tuple[TaggedField, str]], count: str, target: str) -> None:
        unknown, seen, tag, end = (self._source.fresh(name) for name in ("unknown", "seen", "tag", "end"))
        self._source.line(f"{unknown} = []")
        self._source.line(f"{seen} = set()")
        with self._source.block(f"for _ in range({count})"):
            self._source.line(f"{tag}, position, {end} = tagged_field_head(buffer, position, {seen})")
            for branch, (field, field_target) in enumerate(known):
                with self._source.block(f"{'elif' if branch else 'if'} {tag} == {field.tag}"):
                    self._known_tagged_field(field, field_target, end)
            with self._source.block("else"):
                self._source.line(f"{unknown}.append(({tag}, bytes(buffer[position:{end}])))")
                self._source.line(f"position = {end}")
        self._source.line(f"{target} = tuple(sorted({unknown}))")

    def _known_tagged_field(self, field: TaggedField, target: str, end: str) -> None:
        self._path.append(field.name)
        self._value(field.construct, target)
        self._read_run()
        with self._source.block(f"if position != {end}"):
            self._raise(f"a tagged field that should end at byte {{{end}}} ends")
        self._path.pop()


def _last_name(target: str) -> str:
    """Return the attribute of a target, or the target itself if it is a variable."""
    return target.rpartition(".")[2]
