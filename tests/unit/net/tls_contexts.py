"""Contexts for both ends of loopback connections, as kproxy makes them."""

import ssl
import time
from dataclasses import dataclass, replace

from kproxy.net.tls.contexts import MadeContext, TlsTerms, fleet_context, listener_context, upstream_context
from kproxy.settings.choices import ClientAuth
from kproxy.settings.ssl_kinds import TLS_VERSIONS
from tests.worlds.certificates import authority, issued

PLAIN_TERMS = TlsTerms(
    prefix="", key_files=(), key_password="", trust_file="", versions=TLS_VERSIONS, cipher_suites=()
)


def now_ms() -> int:
    """Return the time that OpenSSL has, too."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Fixed:
    """A `TlsContext` that stays the same."""

    context: ssl.SSLContext


def listener_terms(
    name: str = "listener", *, hosts: tuple[str, ...] = ("localhost", "127.0.0.1")
) -> TlsTerms:
    """Return terms with a certificate of that name, trusting those whom the authority signed."""
    keys = issued(name, hosts=hosts)
    return replace(PLAIN_TERMS, key_files=(str(keys.both),), trust_file=str(authority().file))


def upstream_terms(name: str = "", subject: str = "") -> TlsTerms:
    """Return terms that trust the authority, with a certificate if it has a name."""
    keys = (str(issued(name, subject).both),) if name else ()
    return replace(PLAIN_TERMS, prefix="upstream.", key_files=keys, trust_file=str(authority().file))


def listening(terms: TlsTerms | None = None, client_auth: ClientAuth = ClientAuth.NONE) -> Fixed:
    """Return what a port needs."""
    return Fixed(made_for_listener(terms, client_auth).context)


def made_for_listener(
    terms: TlsTerms | None = None, client_auth: ClientAuth = ClientAuth.NONE
) -> MadeContext:
    """Return the same with what is told of it."""
    return listener_context(terms or listener_terms(), client_auth, now_ms())


def dialling(terms: TlsTerms | None = None, *, checks_hostname: bool = True) -> Fixed:
    """Return what whoever dials needs."""
    return Fixed(
        upstream_context(terms or upstream_terms(), now_ms(), checks_hostname=checks_hostname).context
    )


@dataclass(frozen=True, slots=True)
class FleetTls:
    """Both ends of a process of a fleet: `context` is that of its listener."""

    context: ssl.SSLContext
    dialling: Fixed


def fleet_tls(name: str = "kproxy", *, by: str = "fleet", trusts: str = "fleet") -> FleetTls:
    """Return what a process has whose certificate, of that name, the authority `by` signed, and that trusts another."""
    keys = authority(by).issue(f"{name}-of-{by}", hosts=())
    terms = replace(
        PLAIN_TERMS,
        prefix="kproxy.fleet.",
        key_files=(str(keys.both),),
        trust_file=str(authority(trusts).file),
    )
    made = fleet_context(terms, now_ms())
    assert made.dialling is not None
    return FleetTls(made.context, Fixed(made.dialling))


def nameless_in_fleet() -> Fixed:
    """Return what dials processes of the fleet, and has no certificate to show."""
    return dialling(replace(upstream_terms(), trust_file=str(authority("fleet").file)), checks_hostname=False)
