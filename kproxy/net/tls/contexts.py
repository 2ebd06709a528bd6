"""Contexts of `ssl` for one side, made of files and terms. Nothing of OpenSSL's configuration is asked of people."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.net.tls.certificates import CertificateFacts, facts_of
from kproxy.net.tls.pem_files import KeyStore, TlsUnusable, TrustStore, read_key_store, read_trust_store
from kproxy.settings.choices import ClientAuth
from kproxy.settings.cipher_names import OPENSSL_NAMES, TLS_1_3_SUITES

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY_MODES: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


@dataclass(frozen=True, slots=True)
class TlsTerms:
    """What one side agrees to. `prefix` stands before the names of its keys: empty, `upstream.` or `kproxy.fleet.`.

    `key_files` are none, one or two, `trust_file` is empty for the authorities of the operating system.
    """

    prefix: str
    key_files: Sequence[str]
    key_password: str
    trust_file: str
    versions: Sequence[str]
    cipher_suites: Sequence[str]


@dataclass(frozen=True, slots=True)
class MadeContext:
    """A context, and what is to be told of the certificates in it."""

    context: ssl.SSLContext
    certificates: Sequence[CertificateFacts]
    dialling: ssl.SSLContext | None = None
    """Where one side both listens and dials: the context for what it dials."""


def listener_context(terms: TlsTerms, client_auth: ClientAuth, now_ms: int) -> MadeContext:
    """Return a context for connections that clients open. Raises TlsUnusable."""
    if not terms.key_files:
        raise TlsUnusable(
            "ssl.keystore.location is not set: a port that speaks TLS needs a key and its certificate"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if client_auth is not ClientAuth.NONE and not terms.trust_file:
        # The authorities of the operating system vouch for all the world's web servers.
        raise TlsUnusable(
            f"ssl.client.auth = {client_auth} needs ssl.truststore.location: the authorities that sign clients' "
            "certificates"
        )
    context.verify_mode = _VERIFY_MODES[client_auth]
    return _filled(context, terms, "listener", now_ms)


def upstream_context(terms: TlsTerms, now_ms: int, *, checks_hostname: bool) -> MadeContext:
    """Return a context for connections to brokers. Raises TlsUnusable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_hostname
    if not terms.trust_file:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return _filled(context, terms, "upstream", now_ms)


def fleet_context(terms: TlsTerms, now_ms: int) -> MadeContext:
    """Return contexts for both ends of connections between the processes of a fleet. Raises TlsUnusable.

    Both show a certificate that the trust store has signed. Its names do not count: the trust store is the fleet's own,
    and processes are dialled at addresses that come and go.
    """
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.verify_mode = ssl.CERT_REQUIRED
    dialling = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    dialling.check_hostname = False
    made = _filled(listening, terms, "fleet", now_ms)
    return MadeContext(made.context, made.certificates, _filled(dialling, terms, "fleet", now_ms).context)


def _filled(context: ssl.SSLContext, terms: TlsTerms, role: str, now_ms: int) -> MadeContext:
    _limit(context, terms)
    certificates: list[CertificateFacts] = []
    if terms.key_files:
        keys = read_key_store(terms.key_files, terms.key_password, prefix=terms.prefix, now_ms=now_ms)
        _load_keys(context, keys, terms.prefix)
        certificates.append(facts_of(role, keys.certificate_file, keys.chain))
    if terms.trust_file:
        trusted = read_trust_store(terms.trust_file, prefix=terms.prefix)
        _load_trust(context, trusted, terms.prefix)
        certificates.append(facts_of(f"{role}_trust", trusted.file, trusted.authorities))
    return MadeContext(context, certificates)


def _limit(context: ssl.SSLContext, terms: TlsTerms) -> None:
    suites = [OPENSSL_NAMES[suite] for suite in terms.cipher_suites if suite in OPENSSL_NAMES]
    versions = [_VERSIONS[version] for version in terms.versions]
    if terms.cipher_suites and TLS_1_3_SUITES.isdisjoint(terms.cipher_suites):
        versions = [version for version in versions if version is not ssl.TLSVersion.TLSv1_3]
    if terms.cipher_suites and not suites:
        versions = [version for version in versions if version is ssl.TLSVersion.TLSv1_3]
    if not versions:
        raise TlsUnusable(
            f"{terms.prefix}ssl.cipher.suites names no suite of {' or '.join(terms.versions)}, the versions in "
            f"{terms.prefix}ssl.enabled.protocols"
        )
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if suites:
        context.set_ciphers(":".join(suites))
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE


def _load_keys(context: ssl.SSLContext, keys: KeyStore, prefix: str) -> None:
    try:
        context.load_cert_chain(keys.certificate_file, keys.key_file, password=lambda: keys.password)
    except (OSError, ValueError) as error:
        raise TlsUnusable(
            f"{prefix}ssl.keystore.location {keys.certificate_file}: OpenSSL does not take it: {error}"
        ) from error


def _load_trust(context: ssl.SSLContext, trusted: TrustStore, prefix: str) -> None:
    try:
        context.load_verify_locations(cafile=trusted.file)
    except (OSError, ValueError) as error:
        raise TlsUnusable(
            f"{prefix}ssl.truststore.location {trusted.file}: OpenSSL does not take it: {error}"
        ) from error
