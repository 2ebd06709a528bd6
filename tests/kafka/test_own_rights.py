"""`deploy/acls/kproxy-acls.sh` against Kafka's own kafka-acls.sh, and what is said where one of its grants is missing.

`make test` takes the reference, `make soak` 2.8.2, too, with the tool and the authorizer of that version.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kproxy.security.own_rights import OWN_RIGHTS, OwnResource, operation_name
from tests.real_kafka import administration, jars, prerequisites
from tests.real_kafka.administration import ANSWER_TIMEOUT_SECONDS
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.sasl_users import BROKER_SETTINGS, PASSWORDS, client_settings, java_client_settings
from tests.real_kafka.secured_cluster import BROKERS_USER, LITERAL, PREFIXED, allow
from tests.real_kafka.share_member import AcknowledgeType
from tests.real_kafka.share_members import ConfluentShareMember
from tests.real_kafka.versions import OLDEST, REFERENCE, MetadataMode, release_of

SCRIPT: Final = Path(__file__).resolve().parents[2] / "deploy" / "acls" / "kproxy-acls.sh"
TOPIC: Final = "orders"
GROUP: Final = "team"
NAMES: Final = "__kproxy_share"
TIMEOUT_S: Final = 60.0
ADMINISTRATOR: Final = {**client_settings("PLAIN"), **BROKERS_USER}

PATTERNS: Final[Mapping[OwnResource, tuple[ResourceType, str, ResourcePatternType]]] = {
    OwnResource.STATE_TOPICS: (ResourceType.TOPIC, NAMES, PREFIXED),
    OwnResource.FLEET_GROUP: (ResourceType.GROUP, NAMES, PREFIXED),
    OwnResource.TRANSACTIONAL_IDS: (ResourceType.TRANSACTIONAL_ID, NAMES, PREFIXED),
    OwnResource.GROUPS: (ResourceType.GROUP, "*", LITERAL),
    OwnResource.CLUSTER: (ResourceType.BROKER, "kafka-cluster", LITERAL),
    OwnResource.CONSUMED_TOPICS: (ResourceType.TOPIC, TOPIC, LITERAL),
}
GRANTS: Final = [
    pytest.param(resource, operation_name(operation), id=f"{operation_name(operation)} on {resource.value}")
    for resource, operations in OWN_RIGHTS.items()
    for operation in operations
]
NAMED_BY_KPROXY: Final = {
    (OwnResource.STATE_TOPICS, "Create"): "lacks Create there",
    (OwnResource.STATE_TOPICS, "Write"): "allow it Write on that topic",
    (OwnResource.FLEET_GROUP, "Read"): "needs Read and Describe on this group",
    (OwnResource.TRANSACTIONAL_IDS, "Write"): "needs Describe and Write on this transactional id",
    (OwnResource.CLUSTER, "Describe"): "DESCRIBE the cluster",
}
"""Without which kproxy does not become ready, and what it says then."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A cluster with an authorizer that has run the script, and a kproxy that has what that granted."""

    cluster: KafkaCluster
    administrator: AdminClient
    kproxy: KproxyProcess
    settings: Mapping[str, str | int]

    def doctor(self, **settings: str) -> list[dict[str, Any]]:
        """What `kproxy doctor` finds, as items."""
        said = {**self.settings, **{key.replace("__", "."): value for key, value in settings.items()}}
        overrides = [part for key, value in said.items() for part in ("-X", f"{key}={value}")]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "kproxy", "doctor", "-b", self.cluster.bootstrap_servers, *overrides),
                *("--admin-url", self.kproxy.admin_url, "--topic", TOPIC, "-o", "json"),
            ],
            env={key: value for key, value in os.environ.items() if not key.startswith("KPROXY_")},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.stdout, done.stderr
        items: list[dict[str, Any]] = json.loads(done.stdout)["items"]
        return items

    @contextmanager
    def without(self, resource: OwnResource, operation: str) -> Iterator[None]:
        """Take one of the grants away until the block ends."""
        kind, name, pattern = PATTERNS[resource]
        taken = (kind, name, pattern, "User:kproxy", "*", acl_operation(operation), AclPermissionType.ALLOW)
        [deleted] = self.administrator.delete_acls([AclBindingFilter(*taken)]).values()
        assert len(deleted.result(ANSWER_TIMEOUT_SECONDS)) == 1, "the script has not granted this"
        self._until_granted(AclBindingFilter(*taken), count=0)
        try:
            yield
        finally:
            [made] = self.administrator.create_acls([AclBinding(*taken)]).values()
            made.result(ANSWER_TIMEOUT_SECONDS)
            self._until_granted(AclBindingFilter(*taken), count=1)

    def _until_granted(self, wanted: AclBindingFilter, *, count: int) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while len(self.administrator.describe_acls(wanted).result(ANSWER_TIMEOUT_SECONDS)) != count:
            assert time.monotonic() < deadline, "the authorizer does not know yet"
            time.sleep(0.05)


def acl_operation(name: str) -> AclOperation:
    """An operation as librdkafka names it: DESCRIBE_CONFIGS for DescribeConfigs."""
    return AclOperation["_".join(re.findall("[A-Z][a-z]*", name)).upper()]


def run_script(cluster: KafkaCluster, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it as it is shipped, with the cluster's own kafka-acls.sh."""
    release = release_of(cluster.version)
    has_old_name = release.metadata_mode is MetadataMode.ZOOKEEPER
    command = [
        *(str(prerequisites.java().executable), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-cp", jars.classpath(release)),
        "kafka.admin.AclCommand" if has_old_name else "org.apache.kafka.tools.AclCommand",
    ]
    tool = folder / "kafka-acls.sh"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    admin = folder / "admin.properties"
    jaas = java_client_settings("PLAIN")["sasl.jaas.config"]
    jaas = jaas.replace("alice", "broker").replace(PASSWORDS["alice"], BROKERS_USER["sasl.password"])
    client = {**java_client_settings("PLAIN"), "sasl.jaas.config": jaas}
    admin.write_text("".join(f"{key}={value}\n" for key, value in client.items()), encoding="utf-8")
    return subprocess.run(
        [SCRIPT, "--bootstrap-server", cluster.bootstrap_servers, "--command-config", admin, TOPIC],
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=3 * TIMEOUT_S,
        check=False,
    )


def authorizer_of(version: str) -> dict[str, str | int]:
    uses_zookeeper = release_of(version).metadata_mode is MetadataMode.ZOOKEEPER
    return {
        "authorizer.class.name": (
            "kafka.security.authorizer.AclAuthorizer"
            if uses_zookeeper
            else "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        ),
        "super.users": "User:broker;User:ANONYMOUS",
    }


@pytest.fixture(
    scope="module", params=[REFERENCE.version, pytest.param(OLDEST.version, marks=pytest.mark.soak)]
)
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("rights")
    settings = {
        **state_topic_settings(),
        "upstream.security.protocol": "SASL_PLAINTEXT",
        "upstream.sasl.mechanism": "PLAIN",
        "upstream.sasl.username": "kproxy",
        "upstream.sasl.password": PASSWORDS["kproxy"],
        "kproxy.authorizer.refresh.ms": 100,
    }
    brokers: dict[str, str | int] = {**BROKER_SETTINGS, **authorizer_of(request.param)}
    with KafkaCluster(request.param, broker_settings=brokers, client_settings=ADMINISTRATOR) as cluster:
        administration.create_topic(cluster.bootstrap_servers, TOPIC, client_settings=ADMINISTRATOR)
        administration.produce(cluster.bootstrap_servers, TOPIC, "abc", client_settings=ADMINISTRATOR)
        administrator = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **ADMINISTRATOR})
        allow(
            administrator,
            "alice",
            (ResourceType.TOPIC, TOPIC, LITERAL, (AclOperation.READ,)),
            (ResourceType.GROUP, GROUP, LITERAL, (AclOperation.ALL,)),
        )
        granted = run_script(cluster, folder)
        assert granted.returncode == 0, granted.stderr
        with KproxyProcess(cluster.bootstrap_servers, settings=settings) as kproxy:
            kproxy.wait_until_ready()
            yield Guarded(cluster, administrator, kproxy, settings)


def not_ok(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [item for item in items if item["outcome"] != "ok"]


def rights_named(items: Sequence[Mapping[str, Any]]) -> set[str]:
    """The operations that checks which are not in order name as missing."""
    told = " ".join(f"{item['detail']} {item['remedy']}" for item in items)
    return {
        *re.findall(r"may not do (\w+) on ", told),
        *re.findall(r"lacks (\w+) there", told),
        *re.findall(r"allow kproxy's principal (\w+) on the cluster", told),
    }


def test_a_kproxy_with_what_the_script_grants_serves_a_share_group_and_doctor_finds_nothing(
    guarded: Guarded,
) -> None:
    # Given
    alice = client_settings("PLAIN")
    address = guarded.kproxy.bootstrap_servers
    administration.set_group_settings(
        address, GROUP, {"share.auto.offset.reset": "earliest"}, client_settings=alice
    )

    # When
    with ConfluentShareMember(address, group=GROUP, topics=[TOPIC], settings=alice) as member:
        values: list[str | None] = []
        while len(values) < len("abc"):
            values += [record.value for record in member.poll_until_records()]
            member.acknowledge_all(AcknowledgeType.ACCEPT)
            assert [outcome.error for outcome in member.commit()] == [None]

    # Then
    assert values == list("abc")
    assert not_ok(guarded.doctor()) == []


@pytest.mark.parametrize(("resource", "operation"), GRANTS)
def test_doctor_names_the_one_grant_that_is_missing(
    guarded: Guarded, resource: OwnResource, operation: str
) -> None:
    # Given: topics that are not there where the right is one to create them
    others = (
        {
            "kproxy__state__topic__name": f"{NAMES}_state-new",
            "kproxy__groups__topic__name": f"{NAMES}_groups-new",
        }
        if operation == "Create"
        else {}
    )

    # When
    with guarded.without(resource, operation):
        items = guarded.doctor(**others)

    # Then
    assert rights_named(not_ok(items)) == {operation}, not_ok(items)


@pytest.mark.parametrize(
    ("resource", "operation", "said"),
    [
        pytest.param(*grant, said, id=f"{grant[1]} on {grant[0].value}")
        for grant, said in NAMED_BY_KPROXY.items()
    ],
)
def test_a_kproxy_that_cannot_start_its_share_groups_names_the_grant_that_is_missing(
    guarded: Guarded, resource: OwnResource, operation: str, said: str
) -> None:
    # Given
    settings = {**guarded.settings, **state_topic_settings()}

    # When
    with (
        guarded.without(resource, operation),
        KproxyProcess(guarded.cluster.bootstrap_servers, settings=settings) as kproxy,
    ):
        kproxy.wait_until(lambda: said in kproxy.errors(), timeout_seconds=TIMEOUT_S)

        # Then
        told = [line for line in kproxy.errors().splitlines() if said in line]
    assert told
