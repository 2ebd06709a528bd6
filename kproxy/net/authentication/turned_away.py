"""Why a broker closes a connection before it has answered anything."""

from kproxy.net.broker_failures import AuthenticationExpected, BrokerFailure
from kproxy.net.tls.handshakes import failure_with_broker, is_refusal

_CLOSED: str = "closed the connection before it answered ApiVersions"


def turned_away(peer: str, exc: Exception | None, *, is_encrypted: bool) -> BrokerFailure:
    """Return what to say of `peer`, which ended a connection with `exc`, or without a word, before ApiVersions."""
    if exc is not None and is_refusal(exc):
        failure = failure_with_broker(exc, peer)
        return BrokerFailure(failure.reason, f"{peer}: {failure.detail}")
    if is_encrypted:
        detail = f"{_CLOSED}: it may want a certificate of kproxy's (upstream.ssl.keystore.location)"
        return BrokerFailure("closed_before_api_versions", f"{peer} {detail}")
    return AuthenticationExpected("closed_before_api_versions", f"{peer} {_CLOSED}: it may expect TLS")
