"""Answers of the admin port, held against the one file that describes them all."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator


def described() -> Mapping[str, Any]:
    """Return the schema as users get it."""
    schema = json.loads(files("kproxy.admin").joinpath("api_v1.schema.json").read_text(encoding="utf-8"))
    assert isinstance(schema, dict)
    return schema


def require_described(answer: Mapping[str, Any]) -> None:
    """Raise AssertionError unless each field of an answer is described, and is what is said of it."""
    problems = list(_problems(answer))
    assert not problems, "kproxy/admin/api_v1.schema.json describes something else:\n  " + "\n  ".join(
        problems
    )


def require_described_event(name: str, data: Mapping[str, Any]) -> None:
    """Raise AssertionError unless each field of an event is described, and is what is said of it."""
    described_as = {"oneOf": [{"$ref": f"#/$defs/{name.capitalize()}Event"}]}
    problems = [
        error.message for error in Draft202012Validator({**_closed(), **described_as}).iter_errors(data)
    ]
    assert not problems, f"kproxy/admin/api_v1.schema.json describes another {name}: {problems}"


def _problems(answer: Mapping[str, Any]) -> Iterator[str]:
    name = f"{answer.get('kind')}Answer"
    if name not in _closed()["$defs"]:
        yield f"there is no answer of the kind {answer.get('kind')!r}"
        return
    validator = Draft202012Validator({**_closed(), "oneOf": [{"$ref": f"#/$defs/{name}"}]})
    for error in validator.iter_errors(answer):
        for cause in error.context or [error]:
            yield f"{'.'.join(map(str, cause.absolute_path))}: {cause.message}"


@cache
def _closed() -> Mapping[str, Any]:
    """Return the schema with no room for fields that it does not name, so that nobody forgets to describe one."""
    schema = _without_more(described())
    Draft202012Validator.check_schema(schema)
    return schema  # type: ignore[no-any-return]


def _without_more(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_more(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _without_more(each) for name, each in schema.items()}
    return {**closed, "additionalProperties": False} if isinstance(closed.get("properties"), dict) else closed
