"""What kproxy's own connections prove to brokers who they are with: read anew for each login."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from kproxy.net.broker_failures import AuthenticationRefused
from kproxy.security.logins import BearerLogin, PlainLogin, SaslLogin
from kproxy.security.scram import HASHES, ScramLogin
from kproxy.wording import counted

URL_KEY: Final = "upstream.sasl.oauthbearer.token.endpoint.url"

_NONCE_BYTES: Final = 24
_MOST_SECRET_BYTES: Final = 64 * 1024
"""Of a file with a password or a token; what is larger is another file."""


class Credentials(Protocol):
    """Who kproxy is."""

    mechanism: str
    """As SaslHandshake names it."""

    async def login(self) -> SaslLogin:
        """Return what to say in one exchange. Raises AuthenticationRefused when that cannot be known."""
        ...


class Tokens(Protocol):
    """Where tokens come from."""

    async def token(self) -> str:
        """Return one that is valid for a while. Raises AuthenticationRefused."""
        ...


class PasswordCredentials:
    """A user and its password, with PLAIN or SCRAM."""

    def __init__(self, mechanism: str, username: str, read_password: Callable[[], str]) -> None:
        self.mechanism = mechanism
        self._username = username
        self._read_password = read_password

    async def login(self) -> SaslLogin:
        """Return a login with the password as it is now."""
        password = self._read_password()
        if self.mechanism not in HASHES:
            return PlainLogin(self._username, password)
        return ScramLogin(self.mechanism, self._username, password, secrets.token_urlsafe(_NONCE_BYTES))


class TokenCredentials:
    """Tokens, with OAUTHBEARER."""

    mechanism = BearerLogin.mechanism

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def login(self) -> SaslLogin:
        """Return a login with a token that is valid now."""
        return BearerLogin(await self._tokens.token())


class FileTokens:
    """Implements `Tokens`: a file that somebody else keeps fresh."""

    def __init__(self, key: str, path: Path) -> None:
        self._key = key
        self._path = path

    async def token(self) -> str:
        """Return what the file has now, without white space around it."""
        token = read_secret_file(self._key, self._path).strip()
        if not token.isascii() or not token.isprintable() or " " in token or not token:
            raise AuthenticationRefused(
                "credentials", f"{self._key}: {self._path} does not have a token in it"
            )
        return token


def read_secret_file(key: str, path: Path) -> str:
    """Return the text of a file without the line break at its end; `key` is what names it.

    Raises:
        AuthenticationRefused: it cannot be read, is empty, or is no file with a secret.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_SECRET_BYTES + 1)
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise AuthenticationRefused(
            "credentials", f"{key}: {path} cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise AuthenticationRefused("credentials", f"{key}: {path} is not text in UTF-8") from None
    if not text or len(data) > _MOST_SECRET_BYTES:
        size = "nothing" if not text else f"more than {counted(_MOST_SECRET_BYTES, 'byte')}"
        raise AuthenticationRefused("credentials", f"{key}: {path} has {size} in it")
    return text
