"""What kproxy's own connections authenticate with, as the settings have it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kproxy.handlers.ports import Clock
from kproxy.net.authentication.credentials import (
    URL_KEY,
    Credentials,
    FileTokens,
    PasswordCredentials,
    TokenCredentials,
    Tokens,
    read_secret_file,
)
from kproxy.settings import Settings
from kproxy.settings.choices import SaslMechanism
from kproxy.settings.passwords import Password


def own_credentials(settings: Settings, clock: Clock) -> Credentials | None:
    """Return what kproxy's own connections authenticate with, None where brokers do not ask who connects."""
    mechanism = settings.upstream_sasl_mechanism
    if mechanism is None or not settings.upstream_security_protocol.has_sasl:
        return None
    if mechanism is SaslMechanism.OAUTHBEARER:
        return TokenCredentials(own_tokens(settings, clock))
    return PasswordCredentials(mechanism, settings.upstream_sasl_username, own_password(settings))


def own_password(settings: Settings) -> Callable[[], str]:
    """Return what reads the password as it is at that moment, and raises AuthenticationRefused if it cannot be read."""
    return _secret(
        "upstream.sasl.password.file", settings.upstream_sasl_password_file, settings.upstream_sasl_password
    )


def own_tokens(settings: Settings, clock: Clock) -> Tokens:
    """Return where tokens come from, with OAUTHBEARER."""
    url = settings.upstream_sasl_oauthbearer_token_endpoint_url
    if url.lower().startswith("file:"):
        return FileTokens(URL_KEY, Path(unquote(urlsplit(url).path)))
    read_secret = _secret(
        "upstream.sasl.oauthbearer.client.credentials.client.secret.file",
        settings.upstream_sasl_oauthbearer_client_credentials_client_secret_file,
        settings.upstream_sasl_oauthbearer_client_credentials_client_secret,
    )
    # Loaded only where it is used: an HTTP client takes long to import.
    from kproxy.net.authentication.token_endpoint import EndpointTokens  # noqa: PLC0415

    client_id = settings.upstream_sasl_oauthbearer_client_credentials_client_id
    return EndpointTokens(
        url, client_id, read_secret, scope=settings.upstream_sasl_oauthbearer_scope, clock=clock
    )


def _secret(key: str, file: str, secret: Password) -> Callable[[], str]:
    return partial(read_secret_file, key, Path(file)) if file else secret.reveal
