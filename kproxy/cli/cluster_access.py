"""How the commands that ask brokers themselves are let in: as kproxy is, or as a client of Kafka's tools.

Without `--command-config` it is what `kproxy run` would do with the same configuration: `upstream.security.protocol`,
`upstream.ssl.*` and `upstream.sasl.*`. That file alone counts where it is given.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kproxy.clients.failures import NotAllowed
from kproxy.settings import Settings

if TYPE_CHECKING:
    import ssl

    from kproxy.clients.cluster.access import ClusterAccess
    from kproxy.security.logins import SaslLogin

F = TypeVar("F", bound=Callable[..., object])

COMMAND_CONFIG = click.option(
    "--command-config",
    "command_config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Properties of Kafka's clients that say how brokers are reached (security.protocol, ssl.*, sasl.*), as of "
    "Kafka's own tools, in place of upstream.* of kproxy's configuration.",
)
"""The option, whose parameter `security_of` is given."""


@dataclass(frozen=True, slots=True)
class Security:
    """Those of `settings` count that begin with `upstream.`, whoever they are of."""

    settings: Settings
    is_of_client: bool
    """Whether a person wrote them without `upstream.`."""

    @property
    def is_plaintext(self) -> bool:
        """Whether brokers let everybody in, as far as this says."""
        protocol = self.settings.upstream_security_protocol
        return not (protocol.has_tls or protocol.has_sasl)

    def access(self) -> "ClusterAccess":
        """Return how connections are made. Raises SettingsError: files cannot be used."""
        from kproxy.clients.cluster.access import ClusterAccess
        from kproxy.net.tls.handshakes import failure_with_broker

        def words_of(failure: BaseException, host: str) -> str:
            return self._in_their_names(failure_with_broker(failure, host).detail)

        return ClusterAccess(self._tls(), self._new_login(), words_of)

    def reader_options(self) -> Mapping[str, object]:
        """Return the same as options of kafka-python, none for plaintext.

        Raises:
            SettingsError: files cannot be used.
            NotAllowed: secrets cannot be read.
        """
        from kproxy.application.own_credentials import own_password, own_tokens
        from kproxy.clients.topic_reader import token_provider
        from kproxy.net.deadlines import MonotonicClock
        from kproxy.settings.choices import SaslMechanism

        if self.is_plaintext:
            return {}
        protocol, mechanism = self.settings.upstream_security_protocol, self.settings.upstream_sasl_mechanism
        options: dict[str, object] = {"security_protocol": str(protocol)}
        if protocol.has_tls:
            options["ssl_context"] = self._tls()
        if not protocol.has_sasl:
            return options
        options["sasl_mechanism"] = str(mechanism)
        if mechanism is SaslMechanism.OAUTHBEARER:
            tokens = own_tokens(self.settings, MonotonicClock())
            options["sasl_oauth_token_provider"] = token_provider(lambda: asyncio.run(tokens.token()))
            return options
        with self._in_words():
            options["sasl_plain_username"] = self.settings.upstream_sasl_username
            options["sasl_plain_password"] = own_password(self.settings)()
        return options

    def _tls(self) -> "ssl.SSLContext | None":
        if not self.settings.upstream_security_protocol.has_tls:
            return None
        from kproxy.application.tls_parts import upstream_tls
        from kproxy.errors import SettingsError
        from kproxy.net.deadlines import SystemWallClock
        from kproxy.net.tls.pem_files import TlsUnusable

        try:
            return upstream_tls(self.settings, SystemWallClock().now_ms()).context
        except TlsUnusable as unusable:
            raise SettingsError(self._in_their_names(str(unusable))) from unusable

    def _new_login(self) -> "Callable[[], SaslLogin] | None":
        from kproxy.application.own_credentials import own_credentials
        from kproxy.net.deadlines import MonotonicClock

        credentials = own_credentials(self.settings, MonotonicClock())
        if credentials is None:
            return None

        def login() -> "SaslLogin":
            with self._in_words():
                return asyncio.run(credentials.login())

        return login

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Raise as NotAllowed that secrets cannot be read or asked for."""
        from kproxy.net.broker_failures import AuthenticationRefused

        try:
            yield
        except AuthenticationRefused as refused:
            raise NotAllowed(self._in_their_names(str(refused))) from refused

    def _in_their_names(self, text: str) -> str:
        from kproxy.cli.client_properties import in_names_of_clients

        return in_names_of_clients(text) if self.is_of_client else text


def security_of(settings: Settings, command_config: object) -> Security:
    """Return what counts: the file if one is named, else `settings`. Raises SettingsError."""
    if command_config is None:
        return Security(settings, is_of_client=False)
    from kproxy.cli.client_properties import settings_of_client

    return Security(settings_of_client(Path(str(command_config))), is_of_client=True)
