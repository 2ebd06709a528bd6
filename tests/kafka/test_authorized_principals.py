"""Clients and kproxy itself by the names that they prove by SASL, and the rights that the README says kproxy needs."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.kafka.authorization_script import Client
from tests.real_kafka import administration
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.sasl_users import BROKER_SETTINGS, PASSWORDS, client_settings
from tests.real_kafka.secured_cluster import (
    BROKERS_USER,
    DESCRIBE_CLUSTER,
    LITERAL,
    Rights,
    allow,
    own_rights,
)

ADMINISTRATOR: Final = {
    **client_settings("PLAIN"),
    **BROKERS_USER,
}
"""The broker's own user may everything."""
AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:broker;User:ANONYMOUS",
}


@dataclass(slots=True)
class Secured:
    """A cluster with an authorizer, and a kproxy that may do what the README says, but for one thing."""

    administration: AdminClient
    kproxy: KproxyProcess

    def allow(self, user: str, *rights: Rights) -> None:
        allow(self.administration, user, *rights)

    def member(self, user: str) -> Client:
        """A client that has authenticated."""
        client = Client(self.kproxy.broker_addresses[1], "", "team", {"orders": bytes(16)})
        handshake = SaslHandshakeRequest("PLAIN")
        client.connection.ask(17, 1, handshake, SaslHandshakeResponse)
        proof = SaslAuthenticateRequest(f"\0{user}\0{PASSWORDS[user]}".encode())
        answer = client.connection.ask(36, 2, proof, SaslAuthenticateResponse)
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        return client


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    secret: Path = tmp_path_factory.mktemp("secret") / "password"
    secret.write_text(PASSWORDS["kproxy"])
    own: dict[str, str | int] = {
        "upstream.security.protocol": "SASL_PLAINTEXT",
        "upstream.sasl.mechanism": "PLAIN",
        "upstream.sasl.username": "kproxy",
        "upstream.sasl.password.file": str(secret),
        "kproxy.authorizer.source": "acls",
        "kproxy.authorizer.refresh.ms": 100,
        "kproxy.share.heartbeat.max.wait.ms": 0,
    }
    with ExitStack() as owned:
        cluster = owned.enter_context(
            KafkaCluster(broker_settings={**BROKER_SETTINGS, **AUTHORIZER}, client_settings=ADMINISTRATOR)
        )
        administration.create_topic(cluster.bootstrap_servers, "orders", client_settings=ADMINISTRATOR)
        client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **ADMINISTRATOR})
        kproxy = KproxyProcess(cluster.bootstrap_servers, settings={**state_topic_settings(), **own})
        found = Secured(client, owned.enter_context(kproxy))
        found.allow("kproxy", *own_rights("orders", LITERAL))
        yield found


def until(is_so: Callable[[], bool], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def test_kproxy_serves_principals_by_their_names_once_it_may_see_who_may_what(secured: Secured) -> None:
    # Given: everything but Describe on the cluster
    kproxy = secured.kproxy

    def problem() -> str:
        try:
            return str(kproxy.readiness().items)
        except OSError as not_yet:
            return str(not_yet)

    until(lambda: "let kproxy's principal DESCRIBE the cluster" in problem(), problem)
    alice = secured.member("alice")
    codes = [alice.heartbeat("before", "m", 0, "orders").error_code]

    # When
    secured.allow("kproxy", DESCRIBE_CLUSTER)
    kproxy.wait_until_ready()
    codes.append(alice.heartbeat("without rights", "m", 0, "orders").error_code)
    secured.allow("alice", (ResourceType.GROUP, "team", LITERAL, (AclOperation.READ,)))
    until(
        lambda: alice.heartbeat("group", "m", 0, "orders").error_code != ErrorCode.GROUP_AUTHORIZATION_FAILED,
        problem,
    )
    codes.append(alice.heartbeat("without the topic", "m", 0, "orders").error_code)
    secured.allow("alice", (ResourceType.TOPIC, "orders", LITERAL, (AclOperation.DESCRIBE,)))
    until(lambda: alice.heartbeat("all", "m", 0, "orders").error_code == ErrorCode.NONE, problem)
    another = secured.member("kproxy")
    codes.append(another.heartbeat("another one", "m2", 0, "orders").error_code)

    # Then
    assert codes == [
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ]
    for client in (alice, another):
        client.close()
