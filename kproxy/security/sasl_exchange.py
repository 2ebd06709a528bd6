"""`SaslExchange`: a client that proves to a broker who it is, as one between them sees it."""

from dataclasses import dataclass
from typing import Final

from kproxy.security.logins import OAUTHBEARER, PLAIN
from kproxy.security.principal import UNKNOWN, Principal
from kproxy.security.sasl_claims import claim_in
from kproxy.security.scram import HASHES

_VERIFIER: Final = b"v="
"""With it the last message of a SCRAM server begins (RFC 5802, section 7)."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a broker has confirmed: the principal, by what mechanism, and for how long.

    A `lifetime_ms` of 0 stands for as long as the connection is there, or for nobody having said: SaslAuthenticate
    version 0 does not tell, and the broker closes the connection when the time is over all the same.
    """

    principal: Principal
    mechanism: str
    lifetime_ms: int


class SaslExchange:
    """One exchange, from the broker's agreement to the mechanism on.

    It only goes by what the broker answered without an error: a mechanism's own refusal may come without one. Nothing
    that the client said is looked into before the broker is convinced.

    Args:
        mechanism: to which the broker agreed.
        sub_claim_name: see `claim_in`.
    """

    __slots__ = ("_first", "_sub_claim_name", "mechanism")

    def __init__(self, mechanism: str, sub_claim_name: str = "sub") -> None:
        self.mechanism = mechanism
        self._sub_claim_name = sub_claim_name
        self._first: bytes | None = None

    @property
    def tells_its_end(self) -> bool:
        """Whether a proof is the end of it: of a mechanism that is not looked into nobody here knows the end."""
        return self.mechanism in HASHES or self.mechanism in {PLAIN, OAUTHBEARER}

    def answered(self, message: bytes, challenge: bytes, lifetime_ms: int) -> Proof | None:
        """Take one message of the client with the broker's answer; return the proof if that was the last one.

        Who the client is, its first message says.

        Args:
            message: as `legible` has it. Secret, and kept until the exchange is over.
            challenge: what the broker answered, without an error.
            lifetime_ms: for how long the broker believes it, 0 for ever.
        """
        is_first = self._first is None
        if self._first is None:
            self._first = message if self.tells_its_end else b""
        if not self._is_over(challenge, is_first=is_first):
            return None
        claim = claim_in(self.mechanism, self._first, sub_claim_name=self._sub_claim_name)
        return Proof(claim or UNKNOWN, self.mechanism, lifetime_ms)

    def _is_over(self, challenge: bytes, *, is_first: bool) -> bool:
        if self.mechanism in HASHES:
            return not is_first and challenge.startswith(_VERIFIER)
        if self.mechanism == OAUTHBEARER:
            # A token that is not believed is answered with the reason, and the error comes behind that.
            return not challenge
        # What tells the end of others is in their tokens; the principal is unknown before and behind it.
        return self.mechanism != PLAIN or is_first
