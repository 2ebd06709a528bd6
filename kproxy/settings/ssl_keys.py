# ruff: noqa: RUF009 - key_row makes a dataclasses.field, which is no shared value
"""The part of the table of keys about TLS: towards clients with Kafka's names, towards brokers with `upstream.` before.

Of Kafka's keys for PEM (KIP-651) kproxy has those that name files, because files can be replaced while it runs, and a
private key does not belong into an environment or an output. `keys_without_effect` says what to use for the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.settings.addresses import LAST_PORT, HostPort
from kproxy.settings.choices import (
    ClientAuth,
    HostnameCheck,
    ListenerSecurityProtocol,
    StoreType,
    UpstreamSecurityProtocol,
)
from kproxy.settings.key_rows import key_row
from kproxy.settings.passwords import Password, password
from kproxy.settings.relay_keys import RelaySettings
from kproxy.settings.ssl_kinds import cipher_suites, key_files, plain_text, tls_versions
from kproxy.settings.value_kinds import (
    file_path,
    one_of,
    optional_listening_address,
    port_by_node_id,
    whole_number,
)

_KEY_FILES: Final = (
    "A PEM file with the private key and the certificate chain of {whom}, or two files with a comma between, as "
    "tls.crt,tls.key. Files that change are read again.{more}"
)
_TRUST: Final = (
    "A PEM file with the certificates of the authorities that {whose} certificates are trusted by. {more}"
)
_SUITES: Final = (
    "Cipher suites that {whom} may agree on, by their IANA names, best first; empty for OpenSSL's default. Those of "
    "TLSv1.3 are named all or none."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SslSettings(RelaySettings):
    """The part of `Settings` about TLS. `load_settings` makes and validates the whole."""

    # ------------------------------------------------ TLS of clients
    listener_security_protocol: ListenerSecurityProtocol = key_row(
        "kproxy.listener.security.protocol",
        one_of(ListenerSecurityProtocol, why=": SASL passes through either, so SASL_SSL is SSL here"),
        "PLAINTEXT",
        "What the ports of kproxy.listen and of its brokers speak. SASL passes through either.",
    )
    tls_listen: HostPort | None = key_row(
        "kproxy.tls.listen",
        optional_listening_address(),
        "",
        "Where clients bootstrap with TLS, beside the plaintext of kproxy.listen; empty or none for no second kind of "
        "ports. Clients are told ports of the kind through which they came.",
    )
    tls_broker_port_start: int = key_row(
        "kproxy.tls.broker.port.start",
        whole_number(1, LAST_PORT),
        "19300",
        "As kproxy.broker.port.start, for the ports beside kproxy.tls.listen.",
    )
    tls_broker_port_map: Mapping[int, int] = key_row(
        "kproxy.tls.broker.port.map",
        port_by_node_id(),
        "",
        "As kproxy.broker.port.map, for the ports beside kproxy.tls.listen.",
    )
    ssl_keystore_location: tuple[str, ...] = key_row(
        "ssl.keystore.location", key_files(), "", _KEY_FILES.format(whom="kproxy, which clients see", more="")
    )
    ssl_keystore_type: StoreType = key_row(
        "ssl.keystore.type", one_of(StoreType), "PEM", "The format of ssl.keystore.location: PEM."
    )
    ssl_key_password: Password = key_row(
        "ssl.key.password", password(), "", "What the private key of ssl.keystore.location is encrypted with."
    )
    ssl_truststore_location: str = key_row(
        "ssl.truststore.location",
        file_path(),
        "",
        _TRUST.format(whose="clients'", more="Needed where ssl.client.auth asks for them."),
    )
    ssl_truststore_type: StoreType = key_row(
        "ssl.truststore.type", one_of(StoreType), "PEM", "The format of ssl.truststore.location: PEM."
    )
    ssl_client_auth: ClientAuth = key_row(
        "ssl.client.auth",
        one_of(ClientAuth),
        "none",
        "Whether clients show a certificate: required, requested (one that is shown must be trusted) or none.",
    )
    ssl_enabled_protocols: tuple[str, ...] = key_row(
        "ssl.enabled.protocols", tls_versions(), "TLSv1.2,TLSv1.3", "Versions of TLS that clients may use."
    )
    ssl_cipher_suites: tuple[str, ...] = key_row(
        "ssl.cipher.suites", cipher_suites(), "", _SUITES.format(whom="clients")
    )
    ssl_principal_mapping_rules: str = key_row(
        "ssl.principal.mapping.rules",
        plain_text(),
        "DEFAULT",
        "How the subject of a client's certificate becomes the name of its principal: RULE:pattern/replacement/[LU] or "
        "DEFAULT, with commas between; the first rule that fits counts. A client that none fits is turned away.",
    )

    # ------------------------------------------------ TLS of brokers
    upstream_security_protocol: UpstreamSecurityProtocol = key_row(
        "upstream.security.protocol",
        one_of(UpstreamSecurityProtocol),
        "PLAINTEXT",
        "How the backing brokers are reached. TLS is that of every connection to them; SASL is that of kproxy's own "
        "connections, for clients bring theirs.",
    )
    upstream_ssl_truststore_location: str = key_row(
        "upstream.ssl.truststore.location",
        file_path(),
        "",
        _TRUST.format(whose="brokers'", more="Empty for those of the operating system."),
    )
    upstream_ssl_truststore_type: StoreType = key_row(
        "upstream.ssl.truststore.type",
        one_of(StoreType),
        "PEM",
        "The format of upstream.ssl.truststore.location: PEM.",
    )
    upstream_ssl_keystore_location: tuple[str, ...] = key_row(
        "upstream.ssl.keystore.location",
        key_files(),
        "",
        _KEY_FILES.format(whom="kproxy, which brokers see", more=" Empty where brokers ask for none."),
    )
    upstream_ssl_keystore_type: StoreType = key_row(
        "upstream.ssl.keystore.type",
        one_of(StoreType),
        "PEM",
        "The format of upstream.ssl.keystore.location: PEM.",
    )
    upstream_ssl_key_password: Password = key_row(
        "upstream.ssl.key.password",
        password(),
        "",
        "What the private key of upstream.ssl.keystore.location is encrypted with.",
    )
    upstream_ssl_endpoint_identification_algorithm: HostnameCheck = key_row(
        "upstream.ssl.endpoint.identification.algorithm",
        one_of(HostnameCheck, why=", or nothing to check no host name"),
        "https",
        "Whether the certificate of a broker must name the host at which it was dialled: https, or empty for no.",
    )
    upstream_ssl_enabled_protocols: tuple[str, ...] = key_row(
        "upstream.ssl.enabled.protocols",
        tls_versions(),
        "TLSv1.2,TLSv1.3",
        "Versions of TLS that are used with brokers.",
    )
    upstream_ssl_cipher_suites: tuple[str, ...] = key_row(
        "upstream.ssl.cipher.suites", cipher_suites(), "", _SUITES.format(whom="brokers")
    )

    @property
    def has_tls_ports(self) -> bool:
        """Whether any port of kproxy's speaks TLS."""
        return self.listener_security_protocol is ListenerSecurityProtocol.SSL or self.tls_listen is not None
