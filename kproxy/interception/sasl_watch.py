"""`SaslWatch`: learns from the frames of SASL who a client is. They pass as they come.

SaslHandshake names the mechanism, each SaslAuthenticate carries one token, and what the broker answers counts alone.
A token is looked into when the broker has been convinced by it, and not before.
A client may authenticate again on the same connection (KIP-368), and what was proven last holds.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import PeerViolation
from kproxy.security.sasl_claims import legible
from kproxy.security.sasl_exchange import Proof, SaslExchange
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse

SASL_KEYS: Final = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})

MAX_SASL_BYTES: Final = 512 * 1024
"""Of a request of `SASL_KEYS`: what Kafka's brokers take at most (`sasl.server.max.receive.size`, its default)."""

LONGEST_MECHANISM: Final = 20
"""Characters of a mechanism's name (RFC 4422, section 3.1); more of a longer one is not kept."""

OnProof = Callable[["SaslWatch"], None]


class SaslWatch:
    """What is known of one client.

    Args:
        is_required: whether the brokers answer nobody who has not authenticated.
        sub_claim_name: see `claim_in`.
        on_proof: called when the broker has confirmed who the client is; `proof` says it.
    """

    __slots__ = (
        "_asked_mechanism",
        "_exchange",
        "_is_required",
        "_on_proof",
        "_sub_claim_name",
        "_unanswered",
        "expires_ms",
        "is_told",
        "proof",
    )

    def __init__(
        self, *, is_required: bool = False, sub_claim_name: str = "sub", on_proof: OnProof = lambda _: None
    ) -> None:
        self._is_required = is_required
        self._sub_claim_name = sub_claim_name
        self._on_proof = on_proof
        self._asked_mechanism = ""
        self._exchange: SaslExchange | None = None
        self._unanswered = 0
        self.proof: Proof | None = None
        """What was proven last."""
        self.expires_ms: int | None = None
        """Until when that holds, in the time of who set it; None for as long as the connection is there."""

        self.is_told = False
        """Whether somebody has said that nobody knows who the client is."""

    @property
    def is_under_way(self) -> bool:
        """Whether the broker waits for a token of the client, and for nothing else."""
        return self._exchange is not None

    def require_proof(self, now_ms: int | None = None) -> None:
        """Return if the client may be answered as far as that goes, at `now_ms` unless that does not matter.

        Raises:
            PeerViolation: a broker would close the connection now.
        """
        if self.proof is None and self._is_required:
            raise PeerViolation("illegal_sasl_state", "a request before the client has authenticated")
        if now_ms is not None and self.expires_ms is not None and now_ms > self.expires_ms:
            raise PeerViolation("sasl_session_expired", "the client did not authenticate again in time")

    def request(self, message: Message, version: int) -> Callable[[memoryview], None]:
        """Take a request of `SASL_KEYS`; return what is to be called with the frame of the broker's answer.

        What is returned raises MalformedMessage.
        """
        if isinstance(message, SaslHandshakeRequest):
            self._asked_mechanism = message.mechanism[:LONGEST_MECHANISM]
            return partial(self._handshake_answered, version, self._asked_mechanism)
        assert isinstance(message, SaslAuthenticateRequest)
        mechanism = self._asked_mechanism
        # One token is kept at a time: clients wait for each answer, and brokers close on who has been turned away.
        token = b"" if self._unanswered else legible(mechanism, message.auth_bytes)
        self._unanswered += 1
        return partial(self._token_answered, version, mechanism, token)

    def _handshake_answered(self, version: int, mechanism: str, frame: memoryview) -> None:
        _, response = codecs.decode_response(ApiKey.SASL_HANDSHAKE, version, frame)
        assert isinstance(response, SaslHandshakeResponse)
        if response.error_code == ErrorCode.NONE:
            self._exchange = SaslExchange(mechanism, self._sub_claim_name)

    def _token_answered(self, version: int, mechanism: str, token: bytes, frame: memoryview) -> None:
        self._unanswered -= 1
        _, response = codecs.decode_response(ApiKey.SASL_AUTHENTICATE, version, frame)
        assert isinstance(response, SaslAuthenticateResponse)
        exchange = self._exchange
        if response.error_code != ErrorCode.NONE:
            self._exchange = None
        elif exchange is not None and exchange.mechanism == mechanism:
            proof = exchange.answered(token, response.auth_bytes, response.session_lifetime_ms)
            if proof is not None:
                self._exchange = None if exchange.tells_its_end else exchange
                self._take(proof)

    def _take(self, proof: Proof) -> None:
        self.proof, self.expires_ms = proof, None
        self._on_proof(self)
