"""The text of `kproxy/wire/messages`: one module of typed, slotted classes per message.

The text is correct Python but not laid out; `python -m kproxy.schema_compiler` runs the formatter over it. It
depends on the definitions alone, so that the same schemas always give the same files.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from kproxy.schema_compiler.schema_model import LATEST, Field, Schema, VersionRange

API_MESSAGES_MODULE: Final = "by_api_key"

_PACKAGE_TEXT: Final = '''"""The message classes, one module per message.

Generated from `schemas/` by `make generate`; not edited by hand. A class is mutable and cheap to make, and
every field has its default from the schema. A uuid is 16 bytes. `unknown_tagged_fields` holds what a newer
peer sent under tags that the schema does not know, as pairs of tag and content by rising tag; it is written
back as it came.
"""
'''
_GENERATED_NOTE: Final = "Generated from `schemas/` by `make generate`; not edited by hand."
_WIDTH: Final = 100
_PYTHON_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "uuid": "bytes",
    "bytes": "bytes",
    "records": "bytes | memoryview",
}
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake_case(name: str) -> str:
    """Return `name` as Python writes it: `TopicId` becomes `topic_id`."""
    return _WORD_START.sub("_", name).lower()


def emit_package(schemas: Sequence[Schema]) -> dict[str, str]:
    """Return the text of every file of the package by file name."""
    modules = {f"{snake_case(schema.name)}.py": emit_message(schema) for schema in schemas}
    return {
        "__init__.py": _PACKAGE_TEXT,
        f"{API_MESSAGES_MODULE}.py": _emit_api_messages(schemas),
        **modules,
    }


def emit_message(schema: Schema) -> str:
    """Return the text of the module of one message."""
    return "\n".join(_message_lines(schema))


def _message_lines(schema: Schema) -> Iterator[str]:
    yield from _docstring(
        f"{schema.name}: {_versions_in_words(schema.valid_versions)}.\n\n{_GENERATED_NOTE}", ""
    )
    classes = [
        line for struct in schema.structs for line in _struct_lines(schema, struct.name, struct.fields)
    ]
    classes.extend(_top_class_lines(schema))
    yield from _import_lines("\n".join(classes))
    yield from classes


def _import_lines(text: str) -> Iterator[str]:
    if " = field(" in text:
        yield "from dataclasses import field"
    yield "from typing import ClassVar"
    yield ""
    names = (
        "FieldSchema",
        "Message",
        "MessagePart",
        "MessageSchema",
        "StructSchema",
        "VersionRange",
        "ZERO_UUID",
        "message_part",
    )
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    yield f"from kproxy.wire.message_schema import {', '.join(sorted(used, key=_import_order))}"


def _import_order(name: str) -> tuple[bool, bool, str]:
    return (not name.isupper(), name.islower(), name)


def _struct_lines(schema: Schema, name: str, fields: Sequence[Field]) -> Iterator[str]:
    places = []
    for owner, field in schema.references_to(name):
        place = f"`{owner}.{snake_case(field.name)}`"
        places.append(f"an element of {place}" if field.is_array else f"the value of {place}")
    abouts = {field.about for _, field in schema.references_to(name)}
    about = f" {abouts.pop()}" if len(abouts) == 1 else ""
    sentence = " and ".join(places)
    yield from _class_head(name, "MessagePart", f"{sentence[0].upper()}{sentence[1:]}.{about}")
    yield from _field_lines(schema, fields)
    yield "    SCHEMA: ClassVar[StructSchema] = StructSchema("
    yield from _table_lines(fields)
    yield "    )"


def _top_class_lines(schema: Schema) -> Iterator[str]:
    yield from _class_head(schema.name, "Message", schema.about)
    yield from _field_lines(schema, schema.fields)
    yield "    SCHEMA: ClassVar[MessageSchema] = MessageSchema("
    yield f"name={schema.name!r}, kind={schema.kind!r}, api_key={schema.api_key!r},"
    yield f"valid_versions={_range(schema.valid_versions)},"
    yield f"flexible_versions={_range(schema.flexible_versions)},"
    yield from _table_lines(schema.fields)
    yield "    )"


def _class_head(name: str, base: str, about: str) -> Iterator[str]:
    yield "\n\n@message_part"
    yield f"class {name}({base}):"
    yield from _docstring(about, "    ")
    yield ""


def _field_lines(schema: Schema, fields: Sequence[Field]) -> Iterator[str]:
    for field in fields:
        yield f"    {snake_case(field.name)}: {_python_type(field)} = {_python_default(field)}"
        yield from _docstring(f"{field.about}{_version_note(schema, field)}", "    ")
    if schema.flexible_versions is not None:
        yield "    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()"
        yield '    """Tagged fields that the schema does not know, by rising tag."""'
    yield ""


def _version_note(schema: Schema, field: Field) -> str:
    if (
        field.versions.first <= schema.valid_versions.first
        and field.versions.last >= schema.valid_versions.last
    ):
        return ""
    return f" ({_versions_in_words(field.versions)})"


def _versions_in_words(versions: VersionRange) -> str:
    if versions.first == versions.last:
        return f"version {versions.first}"
    if versions.last == LATEST:
        return f"from version {versions.first}"
    return f"versions {versions.first} to {versions.last}"


def _python_type(field: Field) -> str:
    one = field.type if field.is_struct else _PYTHON_TYPES.get(field.type, "int")
    whole = f"list[{one}]" if field.is_array else one
    return f"{whole} | None" if field.nullable_versions is not None else whole


def _python_default(field: Field) -> str:
    if field.is_null_by_default:
        return "None"
    if field.is_array:
        return "field(default_factory=list)"
    if field.is_struct:
        return f"field(default_factory={field.type})"
    return "ZERO_UUID" if field.type == "uuid" else repr(field.default)


def _table_lines(fields: Sequence[Field]) -> Iterator[str]:
    yield "fields=("
    for field in fields:
        yield f"FieldSchema({', '.join(_table_entry(field))}),"
    yield "),"


def _table_entry(field: Field) -> Iterator[str]:
    yield repr(snake_case(field.name))
    yield repr("struct" if field.is_struct else field.type)
    yield _range(field.versions)
    if field.is_struct:
        yield f"struct={field.type}"
    if field.is_array:
        yield "is_array=True"
    if field.nullable_versions is not None:
        yield f"nullable_versions={_range(field.nullable_versions)}"
    if field.tag is not None:
        yield f"tag={field.tag}, tagged_versions={_range(field.tagged_versions)}"
    if field.is_ignorable:
        yield "is_ignorable=True"
    if field.is_never_flexible:
        yield "is_never_flexible=True"


def _range(versions: VersionRange | None) -> str:
    if versions is None:
        return "None"
    return (
        f"VersionRange({versions.first})"
        if versions.last == LATEST
        else f"VersionRange({versions.first}, {versions.last})"
    )


def _docstring(text: str, indent: str) -> Iterator[str]:
    paragraphs = text.split("\n\n")
    if len(paragraphs) == 1 and len(indent) + len(text) + 6 <= _WIDTH + 10:
        yield f'{indent}"""{text}"""'
        return
    lines = []
    for paragraph in paragraphs:
        lines.extend(textwrap.wrap(paragraph, _WIDTH - len(indent)))
        lines.append("")
    yield f'{indent}"""{lines[0]}'
    yield from (f"{indent}{line}" if line else "" for line in lines[1:-1])
    yield f'{indent}"""'


def _emit_api_messages(schemas: Sequence[Schema]) -> str:
    by_kind = {
        kind: sorted((s for s in schemas if s.kind == kind), key=lambda s: s.api_key or 0)
        for kind in ("request", "response")
    }
    lines = list(_docstring(f"The message classes of every API that has schemas.\n\n{_GENERATED_NOTE}", ""))
    lines += ["from collections.abc import Mapping", "from typing import Final", ""]
    lines.append("from kproxy.wire.message_schema import Message")
    everything = sorted((s for kind in by_kind.values() for s in kind), key=lambda s: s.name)
    lines += [f"from kproxy.wire.messages.{snake_case(s.name)} import {s.name}" for s in everything]
    for kind, members in by_kind.items():
        lines.append(f"\n{kind.upper()}_CLASSES: Final[Mapping[int, type[Message]]] = {{")
        lines += [f"    {s.api_key}: {s.name}," for s in members]
        lines += ["}", f'"""The class of the {kind} by API key."""']
    return "\n".join(lines)
