"""A cluster that asks for everything: TLS with certificates of both sides, SASL, and an authorizer with lists.

What kproxy may is what it says that it needs; alice may everything with what begins with `alice-`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kproxy.security.own_rights import OWN_RIGHTS, OwnResource
from tests.real_kafka.administration import ANSWER_TIMEOUT_SECONDS
from tests.real_kafka.certificates import Certificates, java_stores, librdkafka_files
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.node_settings import CLIENT_LISTENER, CONTROLLER_LISTENER
from tests.real_kafka.sasl_users import (
    BROKER_SETTINGS,
    PASSWORDS,
    add_scram_users,
    client_settings,
    java_client_settings,
    unsecured_token,
)
from tests.real_kafka.versions import MetadataMode, release_of

PROTOCOL: Final = "SASL_SSL"
OF_ALICE: Final = "alice-"
BROKERS_USER: Final = {"sasl.username": "broker", "sasl.password": "secret"}
"""The broker's own, which may everything."""

LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
Rights = tuple[ResourceType, str, ResourcePatternType, tuple[AclOperation, ...]]


def _granted(resource: OwnResource) -> tuple[AclOperation, ...]:
    return tuple(AclOperation[each.name] for each in OWN_RIGHTS[resource])


def own_rights(consumed: str, pattern: ResourcePatternType) -> tuple[Rights, ...]:
    """What kproxy's principal needs, but for Describe on the cluster."""
    return (
        (ResourceType.TOPIC, "__kproxy_share", PREFIXED, _granted(OwnResource.STATE_TOPICS)),
        (ResourceType.TOPIC, consumed, pattern, _granted(OwnResource.CONSUMED_TOPICS)),
        (ResourceType.GROUP, "__kproxy_share", PREFIXED, _granted(OwnResource.FLEET_GROUP)),
        (ResourceType.GROUP, "*", LITERAL, _granted(OwnResource.GROUPS)),
        (
            ResourceType.TRANSACTIONAL_ID,
            "__kproxy_share",
            PREFIXED,
            _granted(OwnResource.TRANSACTIONAL_IDS),
        ),
    )


DESCRIBE_CLUSTER: Final[Rights] = (
    ResourceType.BROKER,
    "kafka-cluster",
    LITERAL,
    _granted(OwnResource.CLUSTER),
)
"""What kproxy needs to know who may what."""

ALICES_RIGHTS: Final[tuple[Rights, ...]] = (
    (ResourceType.TOPIC, OF_ALICE, PREFIXED, (AclOperation.ALL,)),
    (ResourceType.GROUP, OF_ALICE, PREFIXED, (AclOperation.ALL,)),
    # Of `administration.consume`: librdkafka waits long for a coordinator that it may not find.
    (ResourceType.GROUP, "none", LITERAL, (AclOperation.READ,)),
)


def allow(administrator: AdminClient, user: str, *rights: Rights) -> None:
    """Let a user do this; returns when a broker knows."""
    bindings = [
        AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, pattern, operations in rights
        for operation in operations
    ]
    for made in administrator.create_acls(bindings).values():
        made.result(ANSWER_TIMEOUT_SECONDS)


def _broker_settings(version: str, certificates: Certificates) -> dict[str, str | int]:
    listener = f"listener.name.{CLIENT_LISTENER.lower()}"
    uses_zookeeper = release_of(version).metadata_mode is MetadataMode.ZOOKEEPER
    return {
        # Some of the six clients cannot authenticate anew on a connection (KIP-368).
        **{key: value for key, value in BROKER_SETTINGS.items() if "max.reauth" not in key},
        **certificates.broker_stores(),
        "listener.security.protocol.map": f"{CLIENT_LISTENER}:{PROTOCOL},{CONTROLLER_LISTENER}:PLAINTEXT",
        # With SASL a broker asks for certificates only where a listener of its own says so (KIP-684).
        f"{listener}.ssl.client.auth": "required",
        "authorizer.class.name": (
            "kafka.security.authorizer.AclAuthorizer"
            if uses_zookeeper
            else "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        ),
        # ANONYMOUS is the broker itself, on its controller's listener.
        "super.users": "User:broker;User:ANONYMOUS",
    }


@dataclass(frozen=True, slots=True)
class SecuredCluster:
    """A running one, with its users and their rights."""

    cluster: KafkaCluster
    certificates: Certificates

    def kproxy_settings(self, secrets: Path) -> dict[str, str | int]:
        """What kproxy needs in front of it, with TLS and clients' certificates on its ports, too."""
        return {**self.certificates.kproxy_settings(), **self.upstream_settings("SCRAM-SHA-512", secrets)}

    def upstream_settings(self, mechanism: str, secrets: Path) -> dict[str, str | int]:
        """What kproxy's own connections need; `secrets` is a folder for the files that have theirs."""
        settings: dict[str, str | int] = {
            **self.certificates.upstream_settings(),
            "upstream.security.protocol": PROTOCOL,
            "upstream.sasl.mechanism": mechanism,
        }
        if mechanism == "OAUTHBEARER":
            token = secrets / "token"
            token.write_text(unsecured_token("kproxy"))
            return {**settings, "upstream.sasl.oauthbearer.token.endpoint.url": token.as_uri()}
        password = secrets / "password"
        password.write_text(PASSWORDS["kproxy"])
        return {
            **settings,
            "upstream.sasl.username": "kproxy",
            "upstream.sasl.password.file": str(password),
        }

    def java_at_brokers(self, mechanism: str, user: str) -> dict[str, str]:
        """What Java's clients need at the brokers themselves."""
        stores = java_stores(self.certificates.kproxy_to_brokers, self.certificates.brokers)
        return {**stores, **java_client_settings(mechanism, user, protocol=PROTOCOL)}


def librdkafka_of_alice(certificates: Certificates, mechanism: str) -> dict[str, str]:
    """What librdkafka's clients need at kproxy's ports to be alice."""
    return {**certificates.librdkafka_client(), **client_settings(mechanism, protocol=PROTOCOL)}


def java_of_alice(certificates: Certificates, mechanism: str) -> dict[str, str]:
    """What Java's clients need at kproxy's ports to be alice."""
    return {**certificates.java_client(), **java_client_settings(mechanism, protocol=PROTOCOL)}


@contextmanager
def secured_cluster(version: str, certificates: Certificates) -> Iterator[SecuredCluster]:
    """A running cluster for the length of the block: one broker, every mechanism, the lists of all users."""
    administrator: Mapping[str, str] = {
        **librdkafka_files(certificates.kproxy_to_brokers, certificates.brokers),
        **client_settings("PLAIN", protocol=PROTOCOL),
        **BROKERS_USER,
    }
    settings = _broker_settings(version, certificates)
    with KafkaCluster(version, broker_settings=settings, client_settings=administrator) as cluster:
        add_scram_users(cluster, administrator)
        client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **administrator})
        allow(client, "kproxy", *own_rights(OF_ALICE, PREFIXED), DESCRIBE_CLUSTER)
        allow(client, "alice", *ALICES_RIGHTS)
        yield SecuredCluster(cluster, certificates)
