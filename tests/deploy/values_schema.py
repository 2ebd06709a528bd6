"""The part of the chart's values.schema.json that is kproxy's own keys.

`python -m tests.deploy.values_schema` writes it. Helm refuses a value by it and names where it stands, before
anything is deployed.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kproxy.settings import KEYS
from kproxy.settings.key_table import SettingKey

CHART: Final = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "kproxy"
SCHEMA_FILE: Final = CHART / "values.schema.json"

SET_BY_THE_CHART: Final = frozenset(
    {
        "bootstrap.servers",
        "kproxy.listen",
        "kproxy.broker.port.start",
        "kproxy.broker.port.map",
        "kproxy.advertised.host",
        "kproxy.admin.listener",
        "kproxy.admin.token.file",
        "kproxy.fleet.listener",
        "kproxy.fleet.advertised.host",
        "kproxy.fleet.secret.file",
        # Ports beside those that the Service has.
        "kproxy.tls.listen",
        "kproxy.tls.broker.port.start",
        "kproxy.tls.broker.port.map",
    }
)
"""Keys that follow from other values, so that ports, probes and the Service agree."""

_RANGE: Final = re.compile(r"a whole number (?:of milliseconds )?from (\d+) to (\d+)")
_CHOICE: Final = re.compile(r"\w+(?: or \w+)+")
_ONE_LINE: Final = {"type": "string", "pattern": "^[^\\n\\r]*$"}


def schema_of_config() -> Mapping[str, object]:
    """Return the schema of `config`: every key that may stand there, and no other one."""
    properties = {
        key.name: {"description": key.doc, **_schema_of_value(key)}
        for key in KEYS.values()
        if key.name not in SET_BY_THE_CHART and not key.kind.is_secret
    }
    return {
        "description": "Keys of kproxy. Those that follow from other values, and passwords, have no place here.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _schema_of_value(key: SettingKey) -> Mapping[str, object]:
    expectation = key.kind.expectation
    bounds = _RANGE.fullmatch(expectation)
    if bounds:
        return {"type": "integer", "minimum": int(bounds[1]), "maximum": int(bounds[2])}
    if expectation == "true or false":
        return {"type": "boolean"}
    if _CHOICE.fullmatch(expectation):
        return {"enum": expectation.split(" or ")}
    if "or auto" in expectation:
        return {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "auto"}]}
    return _ONE_LINE


def written() -> str:
    """Return the text of the schema's file with the keys as they are now."""
    schema: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    schema["properties"]["config"] = schema_of_config()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(written(), encoding="utf-8")
