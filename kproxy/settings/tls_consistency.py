"""Rules that join several keys of TLS, as far as no file has to be looked at."""

from collections.abc import Callable, Iterator

from kproxy.settings.addresses import HostPort
from kproxy.settings.choices import ClientAuth, ListenerSecurityProtocol, StoreType
from kproxy.settings.key_table import Settings

_STORES = (
    ("ssl.keystore", "openssl pkcs12 -in STORE.p12 -out STORE.pem"),
    ("ssl.truststore", "keytool -list -rfc -keystore STORE > STORE.pem"),
    ("upstream.ssl.keystore", "openssl pkcs12 -in STORE.p12 -out STORE.pem"),
    ("upstream.ssl.truststore", "keytool -list -rfc -keystore STORE > STORE.pem"),
)
_TO_PKCS12 = "keytool -importkeystore -srckeystore STORE.jks -destkeystore STORE.p12 -deststoretype PKCS12"


def tls_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    """Yield a sentence for each rule that `settings` breaks; see `contradictions`."""
    yield from _store_contradictions(settings, said)
    yield from _port_contradictions(settings, said)
    if settings.has_tls_ports and not settings.ssl_keystore_location:
        key = "kproxy.tls.listen" if settings.tls_listen else "kproxy.listener.security.protocol"
        yield f"{said(key)} needs ssl.keystore.location: a PEM file with kproxy's private key and certificates"
    if settings.ssl_client_auth is not ClientAuth.NONE and not settings.ssl_truststore_location:
        yield (
            f"{said('ssl.client.auth')} needs ssl.truststore.location: a PEM file with the authorities that sign "
            "clients' certificates"
        )
    if not settings.has_tls_ports and settings.ssl_keystore_location:
        yield (
            f"{said('ssl.keystore.location')} is used by no port: set kproxy.listener.security.protocol=SSL, or "
            "kproxy.tls.listen for ports beside those in plaintext"
        )
    if settings.upstream_ssl_keystore_location and not settings.upstream_security_protocol.has_tls:
        yield (
            f"{said('upstream.ssl.keystore.location')} is used by no connection: "
            f"{said('upstream.security.protocol')} has no TLS"
        )


def _store_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    for store, command in _STORES:
        type_key = f"{store}.type"
        kind = getattr(settings, type_key.replace(".", "_"))
        if kind is StoreType.PEM:
            continue
        location = getattr(settings, f"{store}.location".replace(".", "_"))
        name = (location if isinstance(location, str) else ",".join(location)) or "store.jks"
        is_two_steps = kind is StoreType.JKS and "keystore" in store
        commands = f"{_TO_PKCS12} && {command}" if is_two_steps else command
        stem = name.rpartition(".")[0] or name
        told = (
            commands.replace("STORE.jks", name)
            .replace("STORE.pem", f"{stem}.pem")
            .replace("STORE.p12", f"{stem}.p12" if is_two_steps else name)
            .replace("STORE", name)
        )
        yield f"{said(type_key)}: kproxy reads PEM; convert the store with {told}"


def _port_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    if settings.tls_listen is None:
        return
    if settings.listener_security_protocol is ListenerSecurityProtocol.SSL:
        yield (
            f"{said('kproxy.tls.listen')} adds ports with TLS to ports in plaintext, and "
            f"{said('kproxy.listener.security.protocol')}: keep one of them"
        )
    for key, address in {
        "kproxy.listen": settings.listen,
        "kproxy.admin.listener": settings.admin_listener,
    }.items():
        if address and address.collides_with(settings.tls_listen):
            yield f"{said('kproxy.tls.listen')} and {said(key)} need two different ports"
    taken = set(settings.broker_port_map.values())
    for node_id, port in settings.tls_broker_port_map.items():
        is_bootstrap = HostPort(settings.tls_listen.host, port).collides_with(settings.tls_listen)
        if port in taken or is_bootstrap or port == settings.listen.port:
            yield f"{said('kproxy.tls.broker.port.map')} gives node {node_id} a port that is taken: choose another"
