"""`AskingBroker`: a scripted broker that asks who connects, with PLAIN."""

from collections.abc import Mapping
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.in_memory.answering_broker import AnsweringBroker, Reply
from tests.worlds.backing import cluster_named

SERVED: Final[Mapping[int, tuple[int, int]]] = {
    ApiKey.METADATA: (0, 12),
    ApiKey.SASL_HANDSHAKE: (0, 1),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
}


class AskingBroker(AnsweringBroker):
    """Knows one user, `kproxy`, and answers Metadata after it was told its password."""

    def __init__(self, password: str = "pencil", *, lifetime_ms: int = 0) -> None:
        super().__init__(
            {
                ApiKey.METADATA: lambda request: cluster_named(str(request.correlation_id)),
                ApiKey.SASL_HANDSHAKE: self._handshake,
                ApiKey.SASL_AUTHENTICATE: self._authenticate,
            },
            version_ranges=SERVED,
        )
        self.password = password
        self.lifetime_ms = lifetime_ms

    @property
    def order(self) -> list[str]:
        """The names of the requests so far."""
        return [ApiKey(request.api_key).name for request in self.requests]

    @staticmethod
    def _handshake(request: DecodedRequest) -> Reply:
        assert isinstance(request.message, SaslHandshakeRequest)
        is_known = request.message.mechanism == "PLAIN"
        error = ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        return SaslHandshakeResponse(error_code=error, mechanisms=["PLAIN", "GSSAPI"])

    def _authenticate(self, request: DecodedRequest) -> Reply:
        assert isinstance(request.message, SaslAuthenticateRequest)
        if request.message.auth_bytes == f"\0kproxy\0{self.password}".encode():
            return SaslAuthenticateResponse(session_lifetime_ms=self.lifetime_ms, error_message=None)
        return SaslAuthenticateResponse(error_code=58, error_message="Authentication failed: wrong")
