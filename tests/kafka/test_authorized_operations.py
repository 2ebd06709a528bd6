"""Who may do what where kproxy cannot see the access control lists: as each client's own broker says when asked.

The principals and the script are those of `test_authorization`, but each is a user who authenticates: brokers see
kproxy's address instead of the clients'.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, AdminClient

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.kafka.authorization_script import LEAVE, OPEN, Client, Outcome, other_group
from tests.kafka.test_authorization import CLUSTER, ORDERS, OUR_GROUPS, PRINCIPALS, TOPICS, Rule
from tests.real_kafka import administration
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.node_settings import CLIENT_LISTENER, Settings
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.sasl_users import BROKER_SETTINGS, PASSWORDS, client_settings
from tests.real_kafka.secured_cluster import BROKERS_USER, PREFIXED, allow, own_rights

ADMINISTRATOR: Final = {**client_settings("PLAIN"), **BROKERS_USER}
"""The broker's own user may everything."""
USERS: Final = {principal: f"user{number}" for number, principal in enumerate(PRINCIPALS)}
EVERYTHING: Final = "who may everything"
TAKEN_AWAY: Final = "userTaken"
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_KNOWN: Final = {"broker": "secret", **PASSWORDS, **{user: user for user in (*USERS.values(), TAKEN_AWAY)}}
_OPEN_TO_TEST: Final = {
    "group.share.heartbeat.interval.ms": 500,
    "group.share.min.heartbeat.interval.ms": 500,
    "group.share.assignment.interval.ms": 0,
}
BROKERS: Final[Settings] = {
    **{key: value for key, value in BROKER_SETTINGS.items() if "max.reauth" not in key},
    f"listener.name.{CLIENT_LISTENER.lower()}.plain.sasl.jaas.config": (
        f'{_MODULE} required username="broker" password="secret" '
        + " ".join(f'user_{user}="{password}"' for user, password in _KNOWN.items())
        + ";"
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:broker;User:ANONYMOUS;User:{USERS[EVERYTHING]}",
    **_OPEN_TO_TEST,
}
UNTOLD: Final[dict[str, dict[str, object]]] = {
    # Metadata tells nothing of the cluster to who may not describe it, so DESCRIBE_CONFIGS on it is refused.
    "who deletes": {
        "list config resources": frozenset({("error_code", "CLUSTER_AUTHORIZATION_FAILED")}),
    },
}
"""What is denied, although the reference allows it: no broker tells it."""


@dataclass(slots=True)
class Target:
    """Kafka's own share groups, or kproxy's."""

    address: str
    administration: AdminClient
    topics: dict[str, bytes]
    kproxy: KproxyProcess | None = None

    def client(self, user: str, group: str) -> Client:
        client = Client(self.address, "", group, self.topics)
        authenticate(client.connection, user)
        return client


def authenticate(connection: RawConnection, user: str) -> None:
    connection.ask(17, 1, SaslHandshakeRequest("PLAIN"), SaslHandshakeResponse)
    proof = SaslAuthenticateRequest(f"\0{user}\0{_KNOWN[user]}".encode())
    answer = connection.ask(36, 2, proof, SaslAuthenticateResponse)
    assert answer.error_code == ErrorCode.NONE, answer.error_message


def topic_ids(address: str) -> dict[str, bytes]:
    with RawConnection(address) as connection:
        authenticate(connection, "broker")
        asked = MetadataRequest([MetadataRequestTopic(name=name) for name in TOPICS])
        answer = connection.ask(3, 12, asked, MetadataResponse)
    return {str(topic.name): topic.topic_id for topic in answer.topics}


def binding(user: str, rule: Rule) -> AclBinding:
    (name, kind, pattern), operation, permission = rule
    return AclBinding(kind, name, pattern, f"User:{user}", "*", operation, permission)


def begin(cluster: KafkaCluster) -> AdminClient:
    """Make the lists and the topics."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **ADMINISTRATOR})
    bindings = [
        binding(USERS[principal], rule) for principal, (_, rules) in PRINCIPALS.items() for rule in rules
    ]
    for made in client.create_acls(bindings).values():
        made.result(30)
    for topic in TOPICS:
        administration.create_topic(cluster.bootstrap_servers, topic, client_settings=ADMINISTRATOR)
        administration.produce(cluster.bootstrap_servers, topic, "abc", client_settings=ADMINISTRATOR)
    return client


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Target, Target]]:
    """Kafka, and a kproxy that may not see the lists in front of a Kafka without share groups."""
    secret: Path = tmp_path_factory.mktemp("secret") / "password"
    secret.write_text(PASSWORDS["kproxy"])
    own: dict[str, str | int] = {
        **state_topic_settings(),
        "kproxy.authorizer.source": "auto",
        "upstream.security.protocol": "SASL_PLAINTEXT",
        "upstream.sasl.mechanism": "PLAIN",
        "upstream.sasl.username": "kproxy",
        "upstream.sasl.password.file": str(secret),
        "kproxy.authorizer.refresh.ms": 500,
        "kproxy.share.coordinator.enable": "true",
        "kproxy.share.heartbeat.max.wait.ms": 0,
        **_OPEN_TO_TEST,
    }
    with ExitStack() as owned:
        reference = KafkaCluster(share_groups=True, broker_settings=BROKERS, client_settings=ADMINISTRATOR)
        backing = KafkaCluster(broker_settings=BROKERS, client_settings=ADMINISTRATOR)
        for cluster in (reference, backing):
            owned.enter_context(cluster)
        clients = [begin(cluster) for cluster in (reference, backing)]
        for topic in TOPICS:
            allow(clients[1], "kproxy", *own_rights(topic, PREFIXED))
        kproxy = owned.enter_context(KproxyProcess(backing.bootstrap_servers, settings=own))
        kproxy.wait_until_ready()
        addresses = (reference.broker_address(1), kproxy.broker_addresses[1])
        first, second = (
            Target(address, client, topic_ids(address))
            for address, client in zip(addresses, clients, strict=True)
        )
        second.kproxy = kproxy
        yield first, second


def played(target: Target, user: str, group: str) -> Outcome:
    """The whole script, with two groups that an administrator made and empties half way."""
    administrators = [target.client("broker", name) for name in (group, other_group(group))]
    for administrator in administrators:
        administrator.keep("keeper")
    client = target.client(user, group)
    client.about_members()
    client.about_states()
    client.about_configs()
    for administrator in administrators:
        administrator.heartbeat("leave", "keeper", LEAVE)
    client.about_empty_group()
    for each in (client, *administrators):
        each.close()
    return client.outcome


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_each_request_is_allowed_or_denied_part_by_part_as_by_the_reference(
    targets: tuple[Target, Target], principal: str
) -> None:
    # Given
    user = USERS[principal]
    group = f"team-{user}"

    # When
    expected, found = (played(target, user, group) for target in targets)

    # Then
    assert found == {**expected, **UNTOLD.get(principal, {})}
    is_denied_anything = any(isinstance(value, frozenset) and value for value in expected.values())
    assert is_denied_anything is (principal != EVERYTHING)


def test_it_is_said_which_way_is_in_use(targets: tuple[Target, Target]) -> None:
    # Given
    _, target = targets
    assert target.kproxy is not None

    # When
    status, metrics = target.kproxy.status(), target.kproxy.metrics()

    # Then
    assert status["shareGroups"]["authorizedBy"] == "operations"
    assert metrics.value("kproxy_authorizer_source", source="operations") == 1
    assert metrics.value("kproxy_authorizer_source", source="acls") == 0


def test_a_right_that_is_taken_away_ends_what_an_open_session_is_given(
    targets: tuple[Target, Target],
) -> None:
    # Given: a member that has read all there is
    _, target = targets
    rules: list[Rule] = [
        (OUR_GROUPS, AclOperation.READ, AclPermissionType.ALLOW),
        (ORDERS, AclOperation.READ, AclPermissionType.ALLOW),
        (CLUSTER, AclOperation.DESCRIBE, AclPermissionType.ALLOW),
    ]
    bindings = [binding(TAKEN_AWAY, rule) for rule in rules]
    for made in target.administration.create_acls(bindings).values():
        made.result(30)
    client = target.client(TAKEN_AWAY, "team-taken-away")
    client.topics = {"orders": target.topics["orders"]}
    deadline = time.monotonic() + 30
    while client.heartbeat("join", "fetcher", 0, "orders").error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    epoch = OPEN
    opened = client.fetch("open", epoch, max_wait_ms=500)
    assert isinstance(opened, ShareFetchResponse)
    assert opened.error_code == ErrorCode.NONE

    # When
    denial = binding(TAKEN_AWAY, (ORDERS, AclOperation.READ, AclPermissionType.DENY))
    for made in target.administration.create_acls([denial]).values():
        made.result(30)

    # Then
    while not client.outcome.get("fetch"):
        assert time.monotonic() < deadline
        epoch += 1
        answer = client.fetch("fetch", epoch, max_wait_ms=100)
        assert isinstance(answer, ShareFetchResponse)
        assert answer.error_code == ErrorCode.NONE
    assert client.outcome["fetch"] == {("orders", "0", "error_code", "TOPIC_AUTHORIZATION_FAILED")}
    client.close()
