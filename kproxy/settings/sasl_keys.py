# ruff: noqa: RUF009 - key_row makes a dataclasses.field, which is no shared value
"""The part of the table of keys about SASL: who kproxy's own connections are, and who clients are.

The names are those of Kafka's clients with `upstream.` before, the token endpoint's those of KIP-768 and KIP-1139.
`upstream.sasl.jaas.config` is not among them: kproxy is no Java program, and a secret has a key of its own.
"""

from dataclasses import dataclass
from typing import Final

from kproxy.settings.choices import SaslMechanism
from kproxy.settings.key_rows import key_row
from kproxy.settings.passwords import Password, password
from kproxy.settings.ssl_keys import SslSettings
from kproxy.settings.value_kinds import ValueKind, file_path

_URL_SCHEMES: Final = ("https://", "http://", "file:///")
_MECHANISMS: Final = ", ".join(SaslMechanism)


def _mechanism() -> ValueKind[SaslMechanism | None]:
    return ValueKind(f"one of {_MECHANISMS}", _parse_mechanism, lambda value: value or "")


def _parse_mechanism(text: str) -> SaslMechanism | None:
    word = text.strip().upper()
    if not word:
        return None
    if word not in set(SaslMechanism):
        raise ValueError(f"expected one of {_MECHANISMS}, which kproxy's own connections can use")
    return SaslMechanism(word)


def _text() -> ValueKind[str]:
    return ValueKind("a text", str.strip, str)


def _claim_name() -> ValueKind[str]:
    return ValueKind("the name of a claim", _parse_claim_name, str)


def _parse_claim_name(text: str) -> str:
    if not text.strip():
        raise ValueError("expected the name of a claim, as sub")
    return text.strip()


def _token_url() -> ValueKind[str]:
    return ValueKind("an https:, http: or file: URL", _parse_token_url, str)


def _parse_token_url(text: str) -> str:
    url = text.strip()
    if url and not url.lower().startswith(_URL_SCHEMES):
        raise ValueError("expected https://HOST/PATH, http://HOST/PATH or file:///PATH")
    return url


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings(SslSettings):
    """The part of `Settings` about SASL. `load_settings` makes and validates the whole."""

    upstream_sasl_mechanism: SaslMechanism | None = key_row(
        "upstream.sasl.mechanism",
        _mechanism(),
        "",
        f"How kproxy's own connections authenticate where upstream.security.protocol is SASL: {_MECHANISMS}.",
    )
    upstream_sasl_username: str = key_row(
        "upstream.sasl.username",
        _text(),
        "",
        "The user that kproxy's own connections are, with PLAIN and SCRAM.",
    )
    upstream_sasl_password: Password = key_row(
        "upstream.sasl.password", password(), "", "The password of upstream.sasl.username."
    )
    upstream_sasl_password_file: str = key_row(
        "upstream.sasl.password.file",
        file_path(),
        "",
        "A file with the password instead, in UTF-8; a line break at its end does not count. It is read at each login.",
    )
    upstream_sasl_oauthbearer_token_endpoint_url: str = key_row(
        "upstream.sasl.oauthbearer.token.endpoint.url",
        _token_url(),
        "",
        "Where tokens come from, with OAUTHBEARER: https://… is asked with OAuth's client credentials grant, "
        "file:///… is read at each login.",
    )
    upstream_sasl_oauthbearer_client_credentials_client_id: str = key_row(
        "upstream.sasl.oauthbearer.client.credentials.client.id",
        _text(),
        "",
        "The client id that the token endpoint knows kproxy by.",
    )
    upstream_sasl_oauthbearer_client_credentials_client_secret: Password = key_row(
        "upstream.sasl.oauthbearer.client.credentials.client.secret",
        password(),
        "",
        "The secret of that client id.",
    )
    upstream_sasl_oauthbearer_client_credentials_client_secret_file: str = key_row(
        "upstream.sasl.oauthbearer.client.credentials.client.secret.file",
        file_path(),
        "",
        "A file with that secret instead, read whenever a token is asked for.",
    )
    upstream_sasl_oauthbearer_scope: str = key_row(
        "upstream.sasl.oauthbearer.scope",
        _text(),
        "",
        "The scope that the token endpoint is asked for, if any.",
    )
    sasl_oauthbearer_sub_claim_name: str = key_row(
        "sasl.oauthbearer.sub.claim.name",
        _claim_name(),
        "sub",
        "The claim of a client's token that names its principal, as the brokers have it.",
    )
