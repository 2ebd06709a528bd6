"""Message definitions: what is understood, and that everything else is refused."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kproxy.schema_compiler.schema_model import (
    LATEST,
    SchemaError,
    VersionRange,
    parse_schema,
    read_schema,
    read_schemas,
)

DEFINITION: dict[str, Any] = {
    "apiKey": 78,
    "type": "request",
    "listeners": ["broker"],
    "name": "SampleRequest",
    "validVersions": "1-3",
    "flexibleVersions": "2+",
    "about": "A sample.",
    "fields": [
        {"name": "GroupId", "type": "string", "versions": "0+", "nullableVersions": "1+", "default": "null",
         "entityType": "groupId", "about": "The group."},
        {"name": "MaxBytes", "type": "int32", "versions": "2", "default": "0x7fffffff", "ignorable": True,
         "about": "A limit."},
        {"name": "Topics", "type": "[]Topic", "versions": "0+", "about": "Topics.", "fields": [
            {"name": "TopicId", "type": "uuid", "versions": "0+", "mapKey": True, "about": "An id."},
            {"name": "Ranges", "type": "[]Range", "versions": "0+", "about": "Ranges."},
        ]},
        {"name": "Count", "type": "int16", "versions": "2+", "taggedVersions": "2+", "tag": 0, "default": -1,
         "about": "How many."},
        {"name": "ClientId", "type": "string", "versions": "0+", "flexibleVersions": "none", "about": "Who."},
        {"name": "Records", "type": "records", "versions": "0+", "nullableVersions": "0+", "about": "Batches."},
    ],
    "commonStructs": [
        {"name": "Range", "versions": "0+", "fields": [
            {"name": "IsOpen", "type": "bool", "versions": "0+", "default": "true", "about": "Whether."},
        ]},
    ],
}  # fmt: skip


def test_a_definition_is_read_with_everything_it_says() -> None:
    # When
    schema = parse_schema(DEFINITION)

    # Then
    assert (schema.name, schema.kind, schema.api_key) == ("SampleRequest", "request", 78)
    assert schema.valid_versions == VersionRange(1, 3)
    assert schema.flexible_versions == VersionRange(2, LATEST)
    group_id, max_bytes, topics, count, client_id, records = schema.fields
    assert (group_id.default, group_id.is_null_by_default) == (None, True)
    assert group_id.nullable_versions == VersionRange(1, LATEST)
    assert (max_bytes.default, max_bytes.versions, max_bytes.is_ignorable) == (
        2**31 - 1,
        VersionRange(2, 2),
        True,
    )
    assert (topics.type, topics.is_array, topics.is_struct) == ("Topic", True, True)
    assert (count.tag, count.tagged_versions, count.default) == (0, VersionRange(2, LATEST), -1)
    assert (client_id.is_never_flexible, client_id.default) == (True, "")
    assert records.is_null_by_default


def test_structs_come_before_those_that_are_made_of_them() -> None:
    schema = parse_schema(DEFINITION)
    assert [struct.name for struct in schema.structs] == ["Range", "Topic"]
    assert schema.structs[0].fields[0].default is True
    assert [owner for owner, _ in schema.references_to("Range")] == ["Topic"]


def first_field(definition: dict[str, Any]) -> dict[str, Any]:
    field: dict[str, Any] = definition["fields"][0]
    return field


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "an unknown key of a message": (lambda d: d.update(secret=1), "unknown keys secret"),
    "an unknown key of a field": (lambda d: first_field(d).update(zeroCopy=True), "unknown keys zeroCopy"),
    "an unknown kind": (lambda d: d.update(type="metadata"), "type 'metadata' is none of"),
    "a request without API key": (lambda d: d.pop("apiKey"), "apiKey None does not suit"),
    "a header with API key": (lambda d: d.update(type="header"), "apiKey 78 does not suit"),
    "data with API key": (lambda d: d.update(type="data"), "apiKey 78 does not suit"),
    "no name": (lambda d: d.pop("name"), "name is missing"),
    "a name that is none": (lambda d: d.update(name="sample"), "'sample' cannot be a name"),
    "a field that Python cannot name": (lambda d: first_field(d).update(name="Class"), "'Class' cannot be a name"),
    "no about": (lambda d: first_field(d).pop("about"), "GroupId: about is missing"),
    "an about that is no sentence": (lambda d: d.update(about="sample"), "about is a sentence"),
    "no valid versions": (lambda d: d.update(validVersions="none"), "versions are needed"),
    "versions that are none": (lambda d: first_field(d).update(versions="1-"), "'1-' is no range"),
    "versions the wrong way round": (lambda d: first_field(d).update(versions="3-1"), "'3-1' is no range"),
    "a flexible range of a field": (lambda d: first_field(d).update(flexibleVersions="1+"), "can only be none"),
    "no fields": (lambda d: d.pop("fields"), "a list was expected"),
    "a field that is no object": (lambda d: d["fields"].append("x"), "an object was expected"),
    "a field twice": (lambda d: d["fields"].append(first_field(d)), "stands twice"),
    "a tag twice": (
        lambda d: d["fields"].append({**d["fields"][3], "name": "Other"}),
        "a name or a tag stands twice",
    ),
    "a tag without versions": (lambda d: d["fields"][3].pop("taggedVersions"), "come together"),
    "a tag in an inflexible version": (lambda d: d["fields"][3].update(taggedVersions="1+"), "only flexible"),
    "a tag where the field is not": (
        lambda d: d["fields"][3].update(versions="2", taggedVersions="3+"),
        "tagged in versions that lack it",
    ),
    "fields of a number": (lambda d: first_field(d).update(fields=[]), "a string has no fields"),
    "an unknown type": (lambda d: first_field(d).update(type="int24"), "'int24' is no type"),
    "a struct whose name is none": (lambda d: d["fields"][2].update(type="[]topic"), "'topic' is no type"),
    "an array of arrays": (lambda d: first_field(d).update(type="[][]int8"), "is no type"),
    "a struct twice": (lambda d: d["fields"].append({**d["fields"][2], "name": "More"}), "defined twice"),
    "an unused struct": (lambda d: d["fields"][2]["fields"].pop(1), "nothing uses the common structs Range"),
    "null that is not allowed": (lambda d: first_field(d).pop("nullableVersions"), "never nullable"),
    "a default of an array": (lambda d: d["fields"][2].update(default="x"), "of an array or a struct"),
    "a number that is none": (lambda d: d["fields"][1].update(default="many"), "is no integer"),
    "a number out of bounds": (lambda d: d["fields"][1].update(default=2**31), "out of the bounds of int32"),
    "a flag that is none": (lambda d: d["fields"][1].update(ignorable="yes"), "ignorable is true or false"),
    "a default of a uuid": (
        lambda d: d["fields"][2]["fields"][0].update(default="x"),
        "default 'x' of a uuid",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_understood_is_refused(change: Callable[[dict[str, Any]], object], reason: str) -> None:
    # Given
    definition = copy.deepcopy(DEFINITION)
    change(definition)

    # When
    with pytest.raises(SchemaError) as refusal:
        parse_schema(definition)

    # Then
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("kind", "written", "default"),
    [("bool", "false", False), ("float64", "0.5", 0.5), ("string", "none", "none"), ("int64", "-1", -1)],
)
def test_a_default_has_the_type_of_its_field(kind: str, written: str, default: object) -> None:
    definition = copy.deepcopy(DEFINITION)
    definition["fields"][1].update(type=kind, default=written)
    assert parse_schema(definition).fields[1].default == default


def test_a_file_is_named_as_its_message(tmp_path: Path) -> None:
    path = tmp_path / "OtherRequest.json"
    path.write_text(json.dumps(DEFINITION))
    with pytest.raises(SchemaError, match=r"OtherRequest\.json: holds SampleRequest"):
        read_schema(path)


def test_a_file_that_is_no_json_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "SampleRequest.json"
    path.write_text("{")
    with pytest.raises(SchemaError, match=r"SampleRequest\.json: "):
        read_schema(path)


def test_a_folder_without_definitions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no message definition"):
        read_schemas(tmp_path)


def test_definitions_are_found_in_every_folder_below_and_ordered_by_name(tmp_path: Path) -> None:
    # Given
    for folder, name in (("b", "AlphaRequest"), ("a", "BetaRequest")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.json").write_text(json.dumps({**DEFINITION, "name": name}))

    # When
    schemas = read_schemas(tmp_path)

    # Then
    assert [schema.name for schema in schemas] == ["AlphaRequest", "BetaRequest"]
