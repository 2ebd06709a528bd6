"""Writes the encoding half of a codec: straight-line Python from a construct tree.

Neighbouring values of fixed width, a one-byte varint behind them, an array of numbers behind that, and the
zero that says "no tagged fields", are a *run*: one `Struct.pack` writes it. `Struct.pack` checks every range;
uuids are checked for their length, because pack would pad or cut them in silence. Parts are joined once for
each chunk, of which a long array makes several; `records` are handed out as chunks of their own.
"""

from collections.abc import Sequence
from typing import Final

from construct import Construct

from kproxy.wire.byte_streams import UnencodableMessage
from kproxy.wire.codec_runtime import ONE_BYTE
from kproxy.wire.codec_source import CodecSource, spans_numbers
from kproxy.wire.length_prefixes import FixedLength
from kproxy.wire.message_struct import (
    UNKNOWN_TAGGED_FIELDS,
    AbsentField,
    MessageStruct,
    TaggedField,
    TaggedFields,
    encode_tagged_fields,
)
from kproxy.wire.primitives import (
    MAXIMUM_STRING_BYTES,
    UUID,
    Array,
    FixedWidth,
    LengthPrefixed,
    Nullable,
    Records,
    String,
)
from kproxy.wire.varints import encode_varint

_MOST_PARTS: Final = 4_096
"""Each is an object of 40 bytes at least, most of them for two or three: so many are joined before there are more."""

_ZERO_BYTE: Final = ("x", "")
"""A pad byte of the struct module: writes a zero and takes no value."""


class EncodeEmitter:
    """Writes `encode(message)`, which returns the chunks."""

    def __init__(self, source: CodecSource) -> None:
        self._source: Final = source
        self._run: list[tuple[str, str]] = []
        self._write = "write"
        for known in (UnencodableMessage, encode_varint, encode_tagged_fields):
            source.constant(known.__name__, known)
        source.constant("ONE_BYTE", ONE_BYTE)
        source.constant("join", b"".join)

    def emit(self, tree: MessageStruct) -> None:
        """Write the whole function."""
        with self._source.block("def encode(message)"):
            self._source.line("chunks = []")
            self._source.line("parts = []")
            self._source.line("write = parts.append")
            self._struct(tree, "message")
            self._write_run()
            with self._source.block("if parts"):
                self._source.line("chunks.append(join(parts))")
            self._source.line("return chunks")

    def _struct(self, tree: MessageStruct, variable: str) -> None:
        members = tree.subcons
        ends_in_numbers = (
            len(members) > 1 and _is_plain_tag_section(members[-1]) and spans_numbers(_subcon(members[-2]))
        )
        for member in members[:-2] if ends_in_numbers else members:
            match member:
                case AbsentField():
                    self._absent_field(member, variable)
                case TaggedFields():
                    self._tagged_fields(member, variable)
                case _:
                    self._value(member.subcon, f"{variable}.{member.name}", member.name)
        if ends_in_numbers:
            self._numbers(members[-2].subcon, f"{variable}.{members[-2].name}", variable)

    def _value(self, construct: Construct, expression: str, name: str) -> None:
        match construct:
            case FixedWidth():
                self._fixed_width(construct, expression, name)
            case MessageStruct():
                self._struct(construct, self._local(expression, name))
            case Nullable():
                self._nullable(construct, self._local(expression, name), name)
            case Array() if spans_numbers(construct):
                self._numbers(construct, expression, None)
            case Array():
                self._array(construct, self._local(expression, name), name)
            case LengthPrefixed():
                self._content(construct, self._local(expression, name), name)
            case _:
                raise AssertionError(f"no code for {construct!r}")

    def _local(self, expression: str, name: str) -> str:
        if expression.isidentifier():
            return expression
        variable = self._source.fresh(name)
        self._source.line(f"{variable} = {expression}")
        return variable

    def _absent_field(self, member: AbsentField, variable: str) -> None:
        if member.is_ignorable:
            return
        expression = f"{variable}.{member.name}"
        with self._source.block(f"if {expression} != {self._source.comparand(member.default)}"):
            self._raise(f"this version has no {member.name}, which is {{{expression}!r}}")

    def _fixed_width(self, construct: FixedWidth, expression: str, name: str) -> None:
        if construct is UUID:
            expression = self._local(expression, name)
            with self._source.block(f"if len({expression}) != 16"):
                self._raise(f"{name}: {{{expression}!r}} is no uuid, which has 16 bytes")
        self._run.append((construct.code, expression))

    def _nullable(self, construct: Nullable, value: str, name: str) -> None:
        self._write_run()
        with self._source.block(f"if {value} is None"):
            self._source.line(f"{self._write}(b'\\xff')")
        with self._source.block("else"):
            self._run.append(("b", "1"))
            self._value(construct.subcon, value, name)
            self._write_run()

    def _raise(self, reason: str) -> None:
        """Write the raising of UnencodableMessage; `reason` is the inside of an f-string."""
        self._source.line(f'raise UnencodableMessage(f"{reason}")')

    # Runs

    def _write_run(self) -> None:
        self._write_packed(self._run)
        self._run = []

    def _write_packed(self, run: Sequence[tuple[str, str]]) -> None:
        codes = "".join(code for code, _ in run)
        values = ", ".join(value for _, value in run if value)
        if codes == "B":
            self._source.line(f"{self._write}(ONE_BYTE[{values}])")
        elif values:
            self._source.line(f"{self._write}({self._source.struct_method('pack', codes)}({values}))")
        elif codes:
            self._source.line(f"{self._write}({bytes(len(codes))!r})")

    # Values behind a length

    def _number_before(self, construct: LengthPrefixed, value: str, data: str) -> str:
        """Return a variable for what goes before a value; `value` becomes its `data`, or nothing for null.

        It is the length, or one more as a varint; one less than for an empty value means null.
        """
        excess = 0 if isinstance(construct.length, FixedLength) else 1
        number = self._source.fresh("number")
        if not construct.is_nullable:
            self._number_before_present(value, data, number, excess)
            return number
        with self._source.block(f"if {value} is None"):
            self._source.line(f"{value} = b''")
            self._source.line(f"{number} = {excess - 1}")
        with self._source.block("else"):
            self._number_before_present(value, data, number, excess)
        return number

    def _number_before_present(self, value: str, data: str, number: str, excess: int) -> None:
        if data != value:
            self._source.line(f"{value} = {data}")
        self._source.line(f"{number} = len({value}){' + 1' * excess}")

    def _write_number(self, construct: LengthPrefixed, number: str) -> None:
        """Write the run, then the number; both at once unless that is a varint of several bytes."""
        if isinstance(construct.length, FixedLength):
            self._run.append((construct.length.code, number))
            self._write_run()
            return
        with self._source.block(f"if {number} < 128"):
            self._write_packed([*self._run, ("B", number)])
        with self._source.block("else"):
            if isinstance(construct, String):
                with self._source.block(f"if {number} > {MAXIMUM_STRING_BYTES + 1}"):
                    self._raise(f"a string of {{{number} - 1}} bytes")
            self._write_packed(self._run)
            self._source.line(f"{self._write}(encode_varint({number}))")
        self._run = []

    def _content(self, construct: LengthPrefixed, value: str, name: str) -> None:
        data = f"{value}.encode()" if isinstance(construct, String) else value
        self._write_number(construct, self._number_before(construct, value, data))
        with self._source.block(f"if {value}"):
            if isinstance(construct, Records):
                self._records(value, name)
            else:
                self._source.line(f"{self._write}({value})")

    def _records(self, value: str, name: str) -> None:
        assert self._write == "write", "records stand in no tagged field"
        with self._source.block(f"if not isinstance({value}, (bytes, memoryview))"):
            self._raise(f"{name}: {{{value}!r}} is not bytes")
        self._source.line("chunks.append(join(parts))")
        self._source.line("parts.clear()")
        self._source.line(f"chunks.append({value})")

    def _array(self, construct: Array, value: str, name: str) -> None:
        self._write_number(construct, self._number_before(construct, value, value))
        element = self._source.fresh(f"{name}_element")
        with self._source.block(f"for {element} in {value}"):
            self._value(construct.element, element, name)
            self._write_run()
            if self._write == "write":
                with self._source.block(f"if len(parts) > {_MOST_PARTS}"):
                    self._source.line("chunks.append(join(parts))")
                    self._source.line("parts.clear()")

    # Arrays of numbers

    def _numbers(self, construct: Array, expression: str, owner: str | None) -> None:
        """Write an array of numbers and the tagged fields of its `owner`, if any; at once if all is short."""
        value = self._local(expression, expression.rpartition(".")[2])
        number = self._number_before(construct, value, value)
        unknown = f"{owner}.{UNKNOWN_TAGGED_FIELDS}"
        if isinstance(construct.length, FixedLength):
            self._write_numbers([*self._run, (construct.length.code, number)], construct, value, [])
        else:
            condition = f"{number} >= 128 or {unknown}" if owner else f"{number} >= 128"
            with self._source.block(f"if {condition}"):
                self._write_packed(self._run)
                self._source.line(f"{self._write}(encode_varint({number}))")
                self._write_numbers([], construct, value, [])
                if owner:
                    self._source.line(f"{self._write}(encode_tagged_fields({unknown}))")
            with self._source.block("else"):
                after = [_ZERO_BYTE] if owner else []
                self._write_numbers([*self._run, ("B", number)], construct, value, after)
        self._run = []

    def _write_numbers(
        self,
        before: Sequence[tuple[str, str]],
        construct: Array,
        value: str,
        after: Sequence[tuple[str, str]],
    ) -> None:
        codes_before, codes_after = ("".join(code for code, _ in run) for run in (before, after))
        table = self._source.array_methods("pack", codes_before, construct.element.code, codes_after)
        values_before = "".join(f"{value}, " for _, value in before if value)
        self._source.line(f"{self._write}({table}[len({value})]({values_before}*{value}))")

    # Tagged fields

    def _tagged_fields(self, construct: TaggedFields, variable: str) -> None:
        unknown = f"{variable}.{UNKNOWN_TAGGED_FIELDS}"
        if not construct.known:
            self._tag_section(unknown, unknown)
            return
        run, write = self._run, self._write
        known = self._source.fresh("known")
        self._source.line(f"{known} = []")
        for field in construct.known.values():
            self._known_tagged_field(field, f"{variable}.{field.name}", known)
        self._run, self._write = run, write
        self._tag_section(f"{known} or {unknown}", f"[*{known}, *{unknown}]")

    def _tag_section(self, condition: str, fields: str) -> None:
        with self._source.block(f"if {condition}"):
            self._write_packed(self._run)
            self._source.line(f"{self._write}(encode_tagged_fields({fields}))")
        with self._source.block("else"):
            self._write_packed([*self._run, _ZERO_BYTE])
        self._run = []

    def _known_tagged_field(self, field: TaggedField, expression: str, known: str) -> None:
        content = self._source.fresh("content")
        self._run, self._write = [], self._source.fresh("write")
        with self._source.block(f"if {expression} != {self._source.comparand(field.default)}"):
            self._source.line(f"{content} = []")
            self._source.line(f"{self._write} = {content}.append")
            self._value(field.construct, expression, field.name)
            self._write_run()
            self._source.line(f"{known}.append(({field.tag}, join({content})))")


def _is_plain_tag_section(member: Construct) -> bool:
    return isinstance(member, TaggedFields) and not member.known


def _subcon(member: Construct) -> Construct | None:
    return getattr(member, "subcon", None)
