"""`Admission`: who may be answered by kproxy itself. Brokers answer those only who have authenticated."""

import asyncio
from dataclasses import dataclass

from kproxy.interception.sasl_watch import SaslWatch
from kproxy.net.counting import Counting
from kproxy.net.relay.answering import Answered
from kproxy.security.principal import UNKNOWN
from kproxy.telemetry import logs

log = logs.logger("net.relay.admission")


@dataclass(frozen=True, slots=True)
class Admission:
    """What the brokers ask of clients.

    Args:
        is_sasl_required: whether they answer nobody who has not authenticated by SASL.
        sub_claim_name: the claim of tokens that names the principal.
    """

    is_sasl_required: bool = False
    sub_claim_name: str = "sub"

    def new_watch(self) -> SaslWatch:
        """Return what learns who the client of a new connection is."""
        return SaslWatch(
            is_required=self.is_sasl_required, sub_claim_name=self.sub_claim_name, on_proof=_begin_lifetime
        )

    def admit(self, client: Answered, counting: Counting) -> None:
        """Return if a request of `client` may be answered here, and say so once if nobody knows who the client is.

        Raises:
            PeerViolation: the client has not authenticated, or not again in time; a broker would close the connection.
        """
        session = client.session
        session.sasl.require_proof(_now_ms())
        proof = session.sasl.proof
        if proof is not None and proof.principal == UNKNOWN and not session.sasl.is_told:
            session.sasl.is_told = True
            counting.count("unknown_principals")
            log.warning("principal_unknown", peer=client.peer, mechanism=proof.mechanism)


def _begin_lifetime(watch: SaslWatch) -> None:
    if watch.proof is not None and watch.proof.lifetime_ms > 0:
        watch.expires_ms = _now_ms() + watch.proof.lifetime_ms


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
