"""How brokers let a client in: TLS, and what proves who it is."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from kproxy.clients.failures import ClientFailed, NotAllowed
from kproxy.error_codes import ErrorCode, known_code
from kproxy.security.logins import SaslLogin
from kproxy.security.scram import LoginFailed
from kproxy.wire.codecs import Message
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse

R = TypeVar("R", bound=Message)

HANDSHAKE_VERSION: Final = 1
"""The first whose tokens come in SaslAuthenticate requests."""


def _as_it_says(failure: BaseException, _host: str) -> str:
    return f"the TLS handshake failed: {failure}"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """What connections are encrypted with and authenticate with; None for neither."""

    tls: ssl.SSLContext | None = None
    new_login: Callable[[], SaslLogin] | None = None
    """Gives what to say in one exchange. Raises ClientFailed."""
    words_of: Callable[[BaseException, str], str] = _as_it_says
    """What it means that a handshake with a host ended in an error."""


IN_PLAINTEXT: Final = ClusterAccess()


class AskingConnection(Protocol):
    """A connection to a broker, which stands above this module."""

    @property
    def peer(self) -> str:
        """Where the broker listens."""
        ...

    def ask(self, request: Message, response_class: type[R], *, oldest: int = 0, newest: int = ...) -> R:
        """Return the response to `request`. Raises ClientFailed."""
        ...


def authenticate(connection: AskingConnection, login: SaslLogin) -> None:
    """Prove to the broker who this client is.

    Raises:
        NotAllowed: it does not take these credentials or this mechanism, or is not who it should be.
        ClientFailed: as `ask`.
    """
    _agree(connection, login.mechanism)
    token: bytes | None = login.begin()
    while token is not None:
        response = connection.ask(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse)
        if response.error_code != ErrorCode.NONE:
            words = response.error_message or known_code(response.error_code).name
            raise NotAllowed(
                f"{connection.peer} does not take these credentials ({login.mechanism}): {words}"
            )
        try:
            token = login.answer(response.auth_bytes)
        except LoginFailed as failed:
            raise NotAllowed(f"{connection.peer}: {failed}") from failed


def _agree(connection: AskingConnection, mechanism: str) -> None:
    response = connection.ask(
        SaslHandshakeRequest(mechanism),
        SaslHandshakeResponse,
        oldest=HANDSHAKE_VERSION,
        newest=HANDSHAKE_VERSION,
    )
    if response.error_code == ErrorCode.NONE:
        return
    if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(response.mechanisms) or "none"
        raise NotAllowed(f"{connection.peer} does not enable {mechanism}, but {enabled}: set sasl.mechanism")
    refusal = f"refused SaslHandshake with {known_code(response.error_code).name} ({response.error_code})"
    raise ClientFailed(f"{connection.peer} {refusal}: it may not ask for SASL; set security.protocol")
