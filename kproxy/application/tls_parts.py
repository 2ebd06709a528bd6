"""TLS of one process: its contexts, kept new, and who clients are by their certificates.

What reads certificates takes as long to import as a tenth of everything else, and most processes have none to read. So
this is imported inside of functions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kproxy.net.counting import Counting
from kproxy.net.relay.secured_connection import PrincipalOf
from kproxy.net.tasks import TaskKeeper
from kproxy.security.principal import ANONYMOUS
from kproxy.security.principal_mapping import PrincipalMapping
from kproxy.settings import Settings
from kproxy.settings.choices import HostnameCheck
from kproxy.settings.ssl_kinds import TLS_VERSIONS

if TYPE_CHECKING:
    from kproxy.net.tls.certificates import CertificateFacts
    from kproxy.net.tls.contexts import MadeContext
    from kproxy.net.tls.renewal import RenewedContext


@dataclass(frozen=True, slots=True)
class TlsParts:
    """`listener` is None where no port for clients speaks TLS, `upstream` where brokers are reached in plaintext.

    `fleet` is None where the processes of a fleet are; it both listens and dials.
    """

    listener: "RenewedContext | None" = None
    upstream: "RenewedContext | None" = None
    fleet: "RenewedContext | None" = None
    principal_of: PrincipalOf = lambda _: ANONYMOUS

    def certificates(self) -> Sequence["CertificateFacts"]:
        """Return what is to be told of the certificates in use."""
        return [each for _, context in self._contexts() for each in context.certificates]

    def start(self, tasks: TaskKeeper) -> None:
        """Look after the files from now on."""
        for role, context in self._contexts():
            tasks.keep_up(context.run, name=f"certificates: {role}")

    def _contexts(self) -> "Sequence[tuple[str, RenewedContext]]":
        roles = (("listener", self.listener), ("upstream", self.upstream), ("fleet", self.fleet))
        return [(role, context) for role, context in roles if context is not None]


class _Uncounted:
    """A `Counting` for who only wants to know whether files are good."""

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        """Do nothing."""


def check_tls(settings: Settings, wall_ms: Callable[[], int]) -> None:
    """Return if the files, certificates and rules that `settings` name can be used now.

    Raises:
        KproxyError: says which cannot, and what to do.
    """
    tls_parts(settings, wall_ms=wall_ms, counting=_Uncounted())


def tls_parts(settings: Settings, *, wall_ms: Callable[[], int], counting: Counting) -> TlsParts:
    """Return the TLS that `settings` ask for.

    Raises:
        KproxyError: files, certificates or rules cannot be used.
    """
    mapping = PrincipalMapping(settings.ssl_principal_mapping_rules)
    if not (settings.has_tls_ports or settings.upstream_security_protocol.has_tls or settings.has_fleet_tls):
        return TlsParts()
    from kproxy.net.tls.peer_names import subject_of  # noqa: PLC0415 - see above
    from kproxy.net.tls.renewal import RenewedContext  # noqa: PLC0415

    def renewed(role: str, files: Sequence[str], make: "Callable[[int], MadeContext]") -> "RenewedContext":
        return RenewedContext(role, files, make, wall_ms=wall_ms, counting=counting)

    listener = upstream = fleet = None
    if settings.has_tls_ports:
        files = _files(settings.ssl_keystore_location, settings.ssl_truststore_location)
        listener = renewed("listener", files, partial(_listener_context, settings))
    if settings.upstream_security_protocol.has_tls:
        files = _files(settings.upstream_ssl_keystore_location, settings.upstream_ssl_truststore_location)
        upstream = renewed("upstream", files, partial(upstream_tls, settings))
    if settings.has_fleet_tls:
        files = _files(settings.fleet_ssl_keystore_location, settings.fleet_ssl_truststore_location)
        fleet = renewed("fleet", files, partial(_fleet_context, settings))
    return TlsParts(
        listener, upstream, fleet, lambda certificate: mapping.principal_of(subject_of(certificate))
    )


def _files(key_files: Sequence[str], trust_file: str) -> list[str]:
    return [*key_files, trust_file] if trust_file else list(key_files)


def _listener_context(settings: Settings, now_ms: int) -> "MadeContext":
    from kproxy.net.tls.contexts import TlsTerms, listener_context  # noqa: PLC0415

    terms = TlsTerms(
        prefix="",
        key_files=settings.ssl_keystore_location,
        key_password=settings.ssl_key_password.reveal(),
        trust_file=settings.ssl_truststore_location,
        versions=settings.ssl_enabled_protocols,
        cipher_suites=settings.ssl_cipher_suites,
    )
    return listener_context(terms, settings.ssl_client_auth, now_ms)


def upstream_tls(settings: Settings, now_ms: int) -> "MadeContext":
    """Return the context for connections to brokers. Raises KproxyError: files cannot be used."""
    from kproxy.net.tls.contexts import TlsTerms, upstream_context  # noqa: PLC0415

    terms = TlsTerms(
        prefix="upstream.",
        key_files=settings.upstream_ssl_keystore_location,
        key_password=settings.upstream_ssl_key_password.reveal(),
        trust_file=settings.upstream_ssl_truststore_location,
        versions=settings.upstream_ssl_enabled_protocols,
        cipher_suites=settings.upstream_ssl_cipher_suites,
    )
    checks_hostname = settings.upstream_ssl_endpoint_identification_algorithm is HostnameCheck.HTTPS
    return upstream_context(terms, now_ms, checks_hostname=checks_hostname)


def _fleet_context(settings: Settings, now_ms: int) -> "MadeContext":
    from kproxy.net.tls.contexts import TlsTerms, fleet_context  # noqa: PLC0415

    terms = TlsTerms(
        prefix="kproxy.fleet.",
        key_files=settings.fleet_ssl_keystore_location,
        key_password=settings.fleet_ssl_key_password.reveal(),
        trust_file=settings.fleet_ssl_truststore_location,
        versions=TLS_VERSIONS,
        cipher_suites=(),
    )
    return fleet_context(terms, now_ms)
