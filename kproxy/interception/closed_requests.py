"""What becomes of a request that may touch the topics in which kproxy keeps its state."""

from typing import Final

from kproxy.interception.closed_topics import TOPIC_KEYS, ClosedTopics, Denied, deny_closed_topics
from kproxy.interception.closed_transactions import TRANSACTION_KEYS, deny_transaction
from kproxy.wire.codecs import DecodedRequest

CLOSED_KEYS: Final = TOPIC_KEYS | TRANSACTION_KEYS
"""The requests in which such topics are looked for."""


def deny_closed(request: DecodedRequest, closed: ClosedTopics) -> Denied | None:
    """Return what becomes of a request of `CLOSED_KEYS`; None when it touches nothing closed after all.

    Raises:
        PeerViolation: it wants no answer (a Produce with acks=0), so there is no other way to refuse.
    """
    if request.api_key not in TRANSACTION_KEYS:
        return deny_closed_topics(request, closed)
    answer = deny_transaction(request, closed)
    return None if answer is None else Denied(answer, None)
