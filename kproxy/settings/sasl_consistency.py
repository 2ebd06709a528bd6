"""Rules that join the keys about SASL: what each mechanism needs, and what says nothing without the others."""

from collections.abc import Callable, Iterator
from typing import Final

from kproxy.settings.choices import SaslMechanism
from kproxy.settings.key_table import Settings

_SECRET: Final = "upstream.sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - the name of a key
_CLIENT_ID: Final = "upstream.sasl.oauthbearer.client.credentials.client.id"
_URL: Final = "upstream.sasl.oauthbearer.token.endpoint.url"


def sasl_contradictions(settings: Settings, said: Callable[[str], str]) -> Iterator[str]:
    """Yield a sentence for each rule that `settings` breaks; see `contradictions`."""
    mechanism, protocol = settings.upstream_sasl_mechanism, settings.upstream_security_protocol
    for key, other in (
        (settings.upstream_sasl_password, "upstream.sasl.password"),
        (settings.upstream_sasl_oauthbearer_client_credentials_client_secret, _SECRET),
    ):
        if key and getattr(settings, f"{other}.file".replace(".", "_")):
            yield f"{said(other)} and {said(f'{other}.file')} are two secrets for one thing: keep one of them"
    if mechanism is not None and not protocol.has_sasl:
        yield (
            f"{said('upstream.sasl.mechanism')} says nothing where {said('upstream.security.protocol')}: set "
            "upstream.security.protocol to SASL_PLAINTEXT or SASL_SSL"
        )
    if protocol.has_sasl:
        yield from _missing(settings, mechanism, said)


def _missing(
    settings: Settings, mechanism: SaslMechanism | None, said: Callable[[str], str]
) -> Iterator[str]:
    if mechanism is None:
        yield f"{said('upstream.security.protocol')} needs upstream.sasl.mechanism: {', '.join(SaslMechanism)}"
        return
    for key, is_there in _needs(settings, mechanism):
        if not is_there:
            yield f"{said('upstream.sasl.mechanism')} needs {key}"


def _needs(settings: Settings, mechanism: SaslMechanism) -> Iterator[tuple[str, bool]]:
    if mechanism is not SaslMechanism.OAUTHBEARER:
        has_password = bool(settings.upstream_sasl_password or settings.upstream_sasl_password_file)
        yield "upstream.sasl.username", bool(settings.upstream_sasl_username)
        yield "upstream.sasl.password or upstream.sasl.password.file", has_password
        return
    url = settings.upstream_sasl_oauthbearer_token_endpoint_url
    yield _URL, bool(url)
    if url.lower().startswith("http"):
        secret = settings.upstream_sasl_oauthbearer_client_credentials_client_secret
        secret_file = settings.upstream_sasl_oauthbearer_client_credentials_client_secret_file
        yield _CLIENT_ID, bool(settings.upstream_sasl_oauthbearer_client_credentials_client_id)
        yield f"{_SECRET} or {_SECRET}.file", bool(secret or secret_file)
