"""From definitions to modules: the text, the files, and that those in the tree are up to date."""

import json
from pathlib import Path
from typing import Any

import pytest

from kproxy.schema_compiler.__main__ import main
from kproxy.schema_compiler.emit_messages import emit_message, emit_package, snake_case
from kproxy.schema_compiler.schema_model import parse_schema, read_schemas
from tests.unit.schema_compiler.test_schema_model import DEFINITION

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A folder with one definition and one for the modules."""
    schemas, messages = tmp_path / "schemas", tmp_path / "messages"
    schemas.mkdir()
    messages.mkdir()
    (schemas / "SampleRequest.json").write_text(json.dumps(DEFINITION))
    return schemas, messages


def run(folders: tuple[Path, Path], *arguments: str) -> int:
    schemas, messages = folders
    return main(["--schemas", str(schemas), "--messages", str(messages), *arguments])


@pytest.mark.parametrize(
    ("name", "snake"),
    [("TopicId", "topic_id"), ("IsrNodes", "isr_nodes"), ("Enable2Pc", "enable2_pc"), ("Acks", "acks")],
)
def test_names_are_written_as_python_writes_them(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def test_a_module_has_typed_classes_with_defaults_and_what_each_field_is_about() -> None:
    # Given
    namespace: dict[str, Any] = {"__name__": "kproxy.wire.messages.sample_request"}

    # When
    text = emit_message(parse_schema(DEFINITION))
    exec(text, namespace)

    # Then
    message = namespace["SampleRequest"]()
    assert (message.group_id, message.max_bytes, message.topics, message.count) == (None, 2**31 - 1, [], -1)
    assert (message.client_id, message.records, message.unknown_tagged_fields) == ("", None, ())
    assert namespace["Topic"]().topic_id == bytes(16)
    assert "    group_id: str | None = None\n" in text
    assert '    """A limit. (version 2)"""\n' in text
    assert "    records: bytes | memoryview | None = None\n" in text
    assert "    ranges: list[Range] = field(default_factory=list)\n" in text


def test_a_struct_says_where_it_stands() -> None:
    text = emit_message(parse_schema(DEFINITION))
    assert '"""An element of `Topic.ranges`. Ranges."""' in text


def test_a_message_that_never_became_flexible_has_no_tagged_fields() -> None:
    # Given
    untagged = [field for field in DEFINITION["fields"] if "tag" not in field]
    definition = {**DEFINITION, "flexibleVersions": "none", "fields": untagged}

    # When
    text = emit_message(parse_schema(definition))

    # Then
    assert "unknown_tagged_fields" not in text
    assert "flexible_versions=None" in text


def test_only_requests_and_responses_are_found_by_api_key() -> None:
    # Given
    key = {**DEFINITION, "name": "SampleKey", "type": "coordinator-key"}

    # When
    package = emit_package([parse_schema(DEFINITION), parse_schema(key)])

    # Then
    assert set(package) == {"__init__.py", "by_api_key.py", "sample_request.py", "sample_key.py"}
    assert "    78: SampleRequest,\n" in package["by_api_key.py"]
    assert "SampleKey" not in package["by_api_key.py"]


def test_files_are_written_once_and_then_up_to_date(folders: tuple[Path, Path]) -> None:
    assert run(folders, "--check") == 1
    assert run(folders) == 0
    assert run(folders, "--check") == 0
    assert {path.name for path in folders[1].iterdir()} == {
        "__init__.py",
        "by_api_key.py",
        "sample_request.py",
    }


def test_a_file_that_was_edited_is_named(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    # Given
    run(folders)
    module = folders[1] / "sample_request.py"
    module.write_text(module.read_text().replace("A sample.", "Another sample."))
    capsys.readouterr()

    # When
    status = run(folders, "--check")

    # Then
    assert status == 1
    assert capsys.readouterr().err == f"{module} is out of date: run make generate\n"


def test_a_module_without_definition_is_removed(folders: tuple[Path, Path]) -> None:
    # Given
    run(folders)
    left_over = folders[1] / "retired_request.py"
    left_over.write_text("")

    # When
    run(folders)

    # Then
    assert not left_over.exists()


def test_a_definition_that_is_not_understood_changes_nothing(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    # Given
    (folders[0] / "BadRequest.json").write_text("[]")

    # When
    status = run(folders)

    # Then
    assert status == 2
    assert "BadRequest.json" in capsys.readouterr().err
    assert list(folders[1].iterdir()) == []


def test_the_modules_in_the_tree_are_those_of_the_schemas_in_the_tree() -> None:
    assert main(["--check"]) == 0


def test_every_message_and_every_field_is_explained_in_a_sentence() -> None:
    """The reader refuses a definition without `about`; this one looks at those that were read."""
    # When
    schemas = read_schemas(SCHEMAS)

    # Then
    fields = [(schema.name, field) for schema in schemas for field in schema.fields]
    fields += [
        (struct.name, field) for schema in schemas for struct in schema.structs for field in struct.fields
    ]
    assert len(fields) > 400
    assert [place for place in fields if not is_sentence(place[1].about)] == []
    assert [schema.name for schema in schemas if not is_sentence(schema.about)] == []


def is_sentence(about: str) -> bool:
    return len(about) >= 8 and (about[0].isupper() or about[0].isdigit()) and about[-1] in ".?"
