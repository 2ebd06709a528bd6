"""What may stand in a values file of the chart, and what is refused by name before anything is deployed.

What the templates make of them is looked at by `make deploy-checks`, which has Helm.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft7Validator

from kproxy.settings import KEYS
from tests.deploy.values_schema import CHART, SCHEMA_FILE, SET_BY_THE_CHART, written

Values = dict[str, Any]
CI_FILES: Final = sorted(path.name for path in (CHART / "ci").glob("*.yaml"))
FROM_THE_ENVIRONMENT: Final = frozenset({"kproxy.fleet.advertised.host", "kproxy.admin.token.file"})


def merged(below: Values, above: Mapping[str, Any]) -> Values:
    """As Helm merges: maps key by key, all else whole."""
    found = dict(below)
    for key, value in above.items():
        held = found.get(key)
        found[key] = merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return found


def values_of(file: str) -> Values:
    below = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return merged(below, yaml.safe_load((CHART / "ci" / file).read_text(encoding="utf-8")))


def problems_of(values: Values) -> list[str]:
    validator = Draft7Validator(yaml.safe_load(written()))
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(values)]


def templates() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((CHART / "templates").iterdir()))


def paths_in(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from paths_in(value, f"{prefix}{key}.")


def test_the_schema_has_the_keys_that_kproxy_has_now() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == written(), "run python -m tests.deploy.values_schema"


def test_the_schema_is_a_schema() -> None:
    Draft7Validator.check_schema(yaml.safe_load(written()))


@pytest.mark.parametrize("file", CI_FILES)
def test_values_that_are_right_are_taken(file: str) -> None:
    assert problems_of(values_of(file)) == []


def test_the_cluster_is_what_somebody_has_to_name() -> None:
    # When
    found = problems_of(yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")))

    # Then
    assert [problem.partition(":")[0] for problem in found] == ["bootstrapServers"]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"replica": 3}, "'replica' was unexpected"),
        ({"replicas": "three"}, "replicas: 'three' is not of type 'integer'"),
        ({"mode": "daemonset"}, "mode: 'daemonset' is not one of"),
        ({"nodeIds": [1, 1]}, "nodeIds"),
        ({"nodeIds": []}, "nodeIds"),
        ({"bootstrapServers": "broker1"}, "bootstrapServers: 'broker1'"),
        ({"ports": {"admni": 9644}}, "'admni' was unexpected"),
        ({"ports": {"admin": 0}}, "ports.admin: 0"),
        ({"image": {"tag": "latest"}}, "image.tag"),
        ({"config": {"kproxy.log.levle": "debug"}}, "'kproxy.log.levle' was unexpected"),
        ({"config": {"kproxy.log.level": "loud"}}, "config.kproxy.log.level: 'loud'"),
        ({"config": {"group.share.max.size": 1001}}, "config.group.share.max.size: 1001"),
        ({"config": {"kproxy.share.enable": "yes"}}, "config.kproxy.share.enable: 'yes'"),
        ({"config": {"super.users": "User:a\nkproxy.listen=0.0.0.0:1"}}, "config.super.users"),
        ({"config": {"kproxy.max.buffered.bytes": "much"}}, "config.kproxy.max.buffered.bytes: 'much'"),
        ({"config": {"kproxy.listen": "0.0.0.0:1"}}, "'kproxy.listen' was unexpected"),
        ({"config": {"upstream.sasl.password": "pencil"}}, "'upstream.sasl.password' was unexpected"),
        ({"resources": {"limits": {"memory": "much"}}}, "resources.limits.memory: 'much'"),
        ({"networkPolicy": {"clients": []}}, "networkPolicy.clients"),
        ({"sidecar": {"containers": [{"name": "kproxy", "image": "i:1"}]}}, "sidecar.containers.0"),
        ({"secretMounts": [{"secretName": "s", "path": "/s"}]}, "'path' was unexpected"),
    ],
)
def test_a_value_that_is_wrong_is_refused_by_name(value: Values, named: str) -> None:
    # Given
    values = merged(copy.deepcopy(values_of("standalone-values.yaml")), value)

    # When
    found = problems_of(values)

    # Then
    assert any(named in problem for problem in found), found


def test_every_value_is_used_and_every_one_that_is_used_has_a_default() -> None:
    # When
    used = set(re.findall(r"\.Values\.([A-Za-z.]+[A-Za-z])", templates()))

    # Then
    known = set(paths_in(yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))))
    assert used <= known
    leaves = {path for path in known if not any(other.startswith(f"{path}.") for other in known)}
    assert {
        leaf for leaf in leaves if not any(leaf == path or leaf.startswith(f"{path}.") for path in used)
    } == set()


def test_what_follows_from_other_values_is_written_by_the_chart_and_knows_its_key() -> None:
    # When
    text = templates()
    said = set(re.findall(r"^([a-z.]+)=", text, re.MULTILINE))
    variables = set(re.findall(r"name: (KPROXY_\w+)", text)) - {"KPROXY_ADMIN_URL"}

    # Then
    by_variable = {key.environment_name: key.name for key in KEYS.values()}
    assert {by_variable[variable] for variable in variables} == FROM_THE_ENVIRONMENT
    assert said - {"kproxy.log.format"} <= SET_BY_THE_CHART
    assert set(KEYS) >= SET_BY_THE_CHART
