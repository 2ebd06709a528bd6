"""Everybody's certificates where brokers, kproxy and clients show each other one, in the words of each client."""

from dataclasses import dataclass
from pathlib import Path

from tests.real_kafka.node_settings import CLIENT_LISTENER, CONTROLLER_LISTENER
from tests.worlds.certificate_authority import CertificateAuthority, Issued


@dataclass(frozen=True, slots=True)
class Certificates:
    """Everybody's, signed by one authority for the brokers' side and one for the clients'."""

    brokers: CertificateAuthority
    clients: CertificateAuthority
    broker: Issued
    kproxy_to_brokers: Issued
    kproxy_to_clients: Issued
    client: Issued

    def broker_settings(self) -> dict[str, str]:
        """What a broker needs that lets nobody in without a certificate."""
        return {
            "listener.security.protocol.map": f"{CLIENT_LISTENER}:SSL,{CONTROLLER_LISTENER}:PLAINTEXT",
            "ssl.client.auth": "required",
            **self.broker_stores(),
        }

    def broker_stores(self) -> dict[str, str]:
        """What a broker shows, and whom it trusts."""
        return {
            # Kafka 2.8 wants a password for a key in a file, and none for one that stands here.
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": self.broker.key.read_text(),
            "ssl.keystore.certificate.chain": self.broker.certificate.read_text(),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self.brokers.file.read_text(),
        }

    def kproxy_settings(self) -> dict[str, str]:
        """What a kproxy needs between both."""
        return {
            "kproxy.listener.security.protocol": "SSL",
            "ssl.keystore.location": f"{self.kproxy_to_clients.certificate},{self.kproxy_to_clients.key}",
            "ssl.truststore.location": str(self.clients.file),
            "ssl.client.auth": "required",
            **self.upstream_settings(),
        }

    def upstream_settings(self) -> dict[str, str]:
        """What a kproxy needs towards the brokers."""
        return {
            "upstream.security.protocol": "SSL",
            "upstream.ssl.truststore.location": str(self.brokers.file),
            "upstream.ssl.keystore.location": str(self.kproxy_to_brokers.both),
        }

    def java_client(self) -> dict[str, str]:
        """What Java's clients need at kproxy's ports."""
        return {"security.protocol": "SSL", **java_stores(self.client, self.clients)}

    def librdkafka_client(self) -> dict[str, str]:
        """What librdkafka's clients need at kproxy's ports."""
        return librdkafka_files(self.client, self.clients)

    def of_members(self, kind: str) -> dict[str, str]:
        """What share consumers of a kind need."""
        return self.java_client() if kind == "java" else self.librdkafka_client()


def java_stores(issued: Issued, trusted: CertificateAuthority) -> dict[str, str]:
    """What Java's clients need that show `issued`, and trust `trusted`."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(issued.both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted.file),
    }


def librdkafka_files(issued: Issued, trusted: CertificateAuthority) -> dict[str, str]:
    """What librdkafka's need."""
    return {
        "security.protocol": "SSL",
        "ssl.ca.location": str(trusted.file),
        "ssl.certificate.location": str(issued.certificate),
        "ssl.key.location": str(issued.key),
    }


def issue_certificates(folder: Path) -> Certificates:
    """Return new certificates, whose files go to `folder`. The client is `CN=alice,OU=Orders,O=Acme`."""
    brokers = CertificateAuthority(folder, "brokers")
    clients = CertificateAuthority(folder, "clients")
    return Certificates(
        brokers=brokers,
        clients=clients,
        broker=brokers.issue("broker"),
        kproxy_to_brokers=brokers.issue("kproxy-to-brokers", subject="CN=kproxy,O=Acme"),
        kproxy_to_clients=clients.issue("kproxy-to-clients"),
        client=clients.issue("client", subject="CN=alice,OU=Orders,O=Acme"),
    )
