"""What a client says to prove who it is, for each mechanism but SCRAM, which has a module of its own.

An exchange is a conversation of tokens: the client begins, and answers each challenge until it has nothing to say.
"""

from typing import Final, Protocol

OAUTHBEARER: Final = "OAUTHBEARER"
PLAIN: Final = "PLAIN"

_AFTER_REFUSAL: Final = b"\x01"
"""What a client says when its token was refused, so that the server ends the exchange with an error (RFC 7628)."""


class SaslLogin(Protocol):
    """The client's side of one exchange; of no use after it."""

    mechanism: str
    """As SaslHandshake names it."""

    def begin(self) -> bytes:
        """Return the first token. Secret."""
        ...

    def answer(self, challenge: bytes) -> bytes | None:
        """Return the next token, None when there is nothing to say any more. Raises LoginFailed."""
        ...


class PlainLogin:
    """User name and password as they are (RFC 4616)."""

    mechanism = PLAIN

    def __init__(self, username: str, password: str) -> None:
        self._username = username
        self._password = password

    def begin(self) -> bytes:
        """Return all there is to say."""
        return f"\0{self._username}\0{self._password}".encode()

    def answer(self, challenge: bytes) -> bytes | None:  # noqa: ARG002 - there is none
        """Return None."""
        return None


class BearerLogin:
    """A token of OAuth (RFC 7628, KIP-255)."""

    mechanism = OAUTHBEARER

    def __init__(self, token: str) -> None:
        self._token = token

    def begin(self) -> bytes:
        """Return the token in the form of the mechanism."""
        return f"n,,\x01auth=Bearer {self._token}\x01\x01".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """Return None for a token that was taken; for one that was refused what lets the server say so."""
        return _AFTER_REFUSAL if challenge else None
