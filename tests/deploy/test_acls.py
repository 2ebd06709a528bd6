"""What the script grants, and deploy/README.md and kproxy/LIMITS.md list, is what kproxy asks for.

And it is what kproxy has on the tests' secured clusters: tests/kafka/test_secured_clusters.py and its neighbours.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Final

import pytest

from kproxy.security.own_rights import OWN_RIGHTS, OwnResource, operation_name
from kproxy.settings import Settings
from tests.real_kafka.secured_cluster import DESCRIBE_CLUSTER, LITERAL, PREFIXED, Rights, own_rights

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
SCRIPT: Final = DEPLOY / "acls" / "kproxy-acls.sh"
SHOW: Final = "import sys; print(*sys.argv[1:], sep='\\t')"
"""Stands for kafka-acls.sh: a line for each time it is run, with its arguments."""
CONNECTION: Final = ("--bootstrap-server", "broker1:9092", "--command-config", "admin.properties")
RESOURCES: Final = ("--topic", "--group", "--transactional-id")

NAMES_IN_README: Final = {
    OwnResource.STATE_TOPICS: ("topics", "prefix `__kproxy_share`: the two of the state log"),
    OwnResource.FLEET_GROUP: ("groups", "prefix `__kproxy_share`: the fleet's"),
    OwnResource.TRANSACTIONAL_IDS: ("transactional ids", "prefix `__kproxy_share`"),
    OwnResource.GROUPS: ("groups", "all"),
    OwnResource.CLUSTER: ("cluster", ""),
    OwnResource.CONSUMED_TOPICS: ("topics", "those that share groups consume"),
}

WORDS_IN_LIMITS: Final = {
    OwnResource.STATE_TOPICS: "its two topics",
    OwnResource.FLEET_GROUP: "its group",
    OwnResource.TRANSACTIONAL_IDS: "the transactional ids",
    OwnResource.GROUPS: "groups",
    OwnResource.CLUSTER: "the cluster",
    OwnResource.CONSUMED_TOPICS: "every topic that share groups consume",
}

Right = tuple[str, str, str, str]
"""Kind of resource, name, pattern, operation."""


def ended(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    stand_in = folder / "kafka-acls"
    stand_in.write_text(f"#!{sys.executable}\n{SHOW}\n", encoding="utf-8")
    stand_in.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "KAFKA_ACLS": str(stand_in), **variables}
    return subprocess.run(
        [SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=30
    )


def granted(output: str) -> Iterator[Right]:
    for line in output.splitlines():
        words = line.split("\t")
        assert words[:4] == list(CONNECTION)
        flags = words[4:]
        operations = [value for flag, value in pairwise(flags) if flag == "--operation"]
        kind = next((flag for flag in flags if flag in RESOURCES), "--cluster")
        name, pattern = "kafka-cluster", "literal"
        if kind != "--cluster":
            name, pattern = value_of(kind, flags), value_of("--resource-pattern-type", flags)
        yield from ((kind, name, pattern, operation) for operation in operations)


def value_of(flag: str, flags: Sequence[str]) -> str:
    return flags[flags.index(flag) + 1]


def rights_in_words(rights: Sequence[Rights]) -> set[Right]:
    """The rights that tests grant, as kafka-acls.sh calls them."""
    kinds = {
        "BROKER": "--cluster",
        "TRANSACTIONAL_ID": "--transactional-id",
        "TOPIC": "--topic",
        "GROUP": "--group",
    }
    return {
        (
            kinds[kind.name],
            name,
            pattern.name.lower(),
            "".join(map(str.capitalize, operation.name.split("_"))),
        )
        for kind, name, pattern, operations in rights
        for operation in operations
    }


@pytest.mark.parametrize(
    ("topic", "name", "pattern"),
    [("orders", "orders", LITERAL), ("orders-*", "orders-", PREFIXED), ("*", "*", LITERAL)],
)
def test_kproxy_is_granted_what_it_has_on_secured_clusters(
    tmp_path: Path, topic: str, name: str, pattern: object
) -> None:
    # Given
    assert pattern in {LITERAL, PREFIXED}
    expected = own_rights(name, PREFIXED if pattern is PREFIXED else LITERAL)

    # When
    done = ended(*CONNECTION, topic, folder=tmp_path)

    # Then
    assert done.returncode == 0, done.stderr
    assert set(granted(done.stdout)) == rights_in_words([*expected, DESCRIBE_CLUSTER])


def test_the_readme_lists_what_kproxy_asks_for() -> None:
    # Given
    lines = (DEPLOY / "README.md").read_text(encoding="utf-8").splitlines()
    header = lines.index("  | resource | name | operations |")

    # When
    rows = [line.split("|")[1:4] for line in takewhile(str.strip, lines[header + 2 :])]

    # Then
    named = {(kind.strip(), name.strip()): set(rights.strip().split(", ")) for kind, name, rights in rows}
    assert named == {
        NAMES_IN_README[resource]: {operation_name(each) for each in operations}
        for resource, operations in OWN_RIGHTS.items()
    }


def test_the_limits_name_what_kproxy_asks_for() -> None:
    # When
    text = " ".join((DEPLOY.parent / "kproxy" / "LIMITS.md").read_text(encoding="utf-8").split())

    # Then
    for resource, operations in OWN_RIGHTS.items():
        *most, last = map(operation_name, operations)
        listed = f"{', '.join(most)} and {last}" if most else last
        assert f"{listed} on {WORDS_IN_LIMITS[resource]}" in text


def test_everything_is_granted_to_the_principal_that_is_named(tmp_path: Path) -> None:
    # When
    done = ended(*CONNECTION, "--principal", "User:CN=kproxy", "orders", "payments", folder=tmp_path)

    # Then
    assert [value_of("--allow-principal", line.split("\t")) for line in done.stdout.splitlines()] == [
        "User:CN=kproxy"
    ] * 7


def test_the_names_are_those_of_kproxy_unless_others_are_given(tmp_path: Path) -> None:
    # Given
    settings = Settings()

    # When
    others = ended(*CONNECTION, "orders", folder=tmp_path, NAMES="mine")

    # Then
    owned = {settings.state_topic_name, settings.groups_topic_name, settings.fleet_group}
    assert all(name.startswith("__kproxy_share") for name in owned)
    assert {name for _, name, pattern, _ in granted(others.stdout) if pattern == "prefixed"} == {"mine"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["orders"], "--bootstrap-server broker1:9092"),
        ([*CONNECTION], "name the topics that share groups consume"),
        ([*CONNECTION, "--principle", "User:kproxy", "orders"], "[--principal User:kproxy]"),
        (["orders", "--bootstrap-server"], "--bootstrap-server broker1:9092"),
    ],
)
def test_a_wrong_call_grants_nothing_and_says_what_is_missing(
    tmp_path: Path, arguments: list[str], problem: str
) -> None:
    # When
    done = ended(*arguments, folder=tmp_path)

    # Then
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
