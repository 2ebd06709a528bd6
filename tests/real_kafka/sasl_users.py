"""Brokers that ask who connects, by every mechanism that kproxy speaks, and clients that know a user of theirs."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Final

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.real_kafka.administration import ANSWER_TIMEOUT_SECONDS
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.node_settings import CLIENT_LISTENER, CONTROLLER_LISTENER

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PASSWORDS: Final = {"kproxy": "pencil", "alice": "wonderland"}
REAUTHENTICATION_MS: Final = 5_000
"""How long a session lasts that began with SCRAM-SHA-512; clients begin anew with about a tenth of it left."""

_MODULES: Final = "org.apache.kafka.common.security"
_PREFIX: Final = f"listener.name.{CLIENT_LISTENER.lower()}"
_SCRAM_ITERATIONS: Final = 4_096
_SCRAM: Final = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
_TOKEN_SECONDS: Final = 3_600

_PLAIN_USERS: Final = " ".join(f'user_{user}="{password}"' for user, password in PASSWORDS.items())

BROKER_SETTINGS: Final[Mapping[str, str | int]] = {
    "listener.security.protocol.map": f"{CLIENT_LISTENER}:SASL_PLAINTEXT,{CONTROLLER_LISTENER}:PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    f"{_PREFIX}.plain.sasl.jaas.config": (
        f'{_MODULES}.plain.PlainLoginModule required username="broker" password="secret" '
        f'user_broker="secret" {_PLAIN_USERS};'
    ),
    f"{_PREFIX}.scram-sha-256.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    f"{_PREFIX}.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    f"{_PREFIX}.scram-sha-512.connections.max.reauth.ms": REAUTHENTICATION_MS,
    f"{_PREFIX}.oauthbearer.sasl.jaas.config": (
        f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
    ),
}


def client_settings(
    mechanism: str, user: str = "alice", *, protocol: str = "SASL_PLAINTEXT"
) -> dict[str, str]:
    """Return what librdkafka needs to be `user`."""
    settings = {"security.protocol": protocol, "sasl.mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return {
            **settings,
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": f"principal={user}",
        }
    return {**settings, "sasl.username": user, "sasl.password": PASSWORDS[user]}


def java_client_settings(
    mechanism: str, user: str = "alice", *, protocol: str = "SASL_PLAINTEXT"
) -> dict[str, str]:
    """Return what Java's clients need to be `user`."""
    module, said = f"{_MODULES}.plain.PlainLoginModule", f'username="{user}" password="{PASSWORDS[user]}"'
    if mechanism == "OAUTHBEARER":
        module, said = (
            f"{_MODULES}.oauthbearer.OAuthBearerLoginModule",
            f'unsecuredLoginStringClaim_sub="{user}"',
        )
    elif mechanism.startswith("SCRAM"):
        module = f"{_MODULES}.scram.ScramLoginModule"
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{module} required {said};",
    }


def unsecured_token(user: str) -> str:
    """Return a token without a signature, as brokers take it by default."""
    now_s = time.time_ns() // 1_000_000_000
    claims = {"sub": user, "iat": now_s, "exp": now_s + _TOKEN_SECONDS}
    parts = (
        urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "none"}, claims)
    )
    return ".".join((*parts, ""))


def add_scram_users(cluster: KafkaCluster, settings: Mapping[str, str] | None = None) -> None:
    """Let the users authenticate by SCRAM, too; returns when they can. `settings` are those of who may do that."""
    admin = AdminClient(
        {"bootstrap.servers": cluster.bootstrap_servers, **(settings or client_settings("PLAIN"))}
    )
    for mechanism in _SCRAM.values():  # a broker alters the credentials of one user once in a request
        info = ScramCredentialInfo(mechanism, _SCRAM_ITERATIONS)
        upsertions = [
            UserScramCredentialUpsertion(user, info, password.encode())
            for user, password in PASSWORDS.items()
        ]
        for done in admin.alter_user_scram_credentials(upsertions).values():
            done.result(ANSWER_TIMEOUT_SECONDS)
