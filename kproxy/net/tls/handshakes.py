"""What the failure of a TLS handshake means: a fixed word for counters, and words for people."""

import ssl
from typing import Final, NamedTuple


class HandshakeFailure(NamedTuple):
    """`reason` is a label of a counter, `detail` what happened, without the name of the peer."""

    reason: str
    detail: str


PLAINTEXT_ON_TLS: Final = "plaintext_on_tls"
HANDSHAKE_ABANDONED: Final = "handshake_abandoned"
"""The peer left in the middle: load balancers and scanners that only see whether a port is open do nothing else."""

HANDSHAKE_TIMEOUT: Final = "handshake_timeout"
_FAILED: Final = "handshake_failed"
_NO_TERMS: Final = "no_common_terms"
_REFUSED: Final = "certificate_refused"
_UNTRUSTED: Final = "certificate_untrusted"

_MISSING: Final = "certificate_missing"
_SAME_KEYS: Final = "all processes of a fleet need kproxy.fleet.ssl.* with certificates of one authority"

_NO_COMMON_TERMS: Final = frozenset(
    {
        "NO_SHARED_CIPHER",
        "UNSUPPORTED_PROTOCOL",
        "VERSION_TOO_LOW",
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "TLSV1_ALERT_INSUFFICIENT_SECURITY",
        "NO_PROTOCOLS_AVAILABLE",
        "NO_SUITABLE_SIGNATURE_ALGORITHM",
        "DH_KEY_TOO_SMALL",
    }
)
_CERTIFICATE_REFUSED: Final = {
    "TLSV1_ALERT_UNKNOWN_CA": "it does not know the authority that signed it",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it is bad in its eyes",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it could not be verified",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "it was revoked",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "it is of a kind that it does not support",
    "TLSV1_ALERT_ACCESS_DENIED": "access is denied",
    "TLSV1_ALERT_DECRYPT_ERROR": "its signature could not be verified",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants one, and got none",
}
_PLAINTEXT: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"}
)


def failure_with_client(error: BaseException) -> HandshakeFailure:
    """Return what it means that a handshake with a client ended in `error`."""
    name = _name(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return HandshakeFailure(_UNTRUSTED, f"its certificate is not trusted: {error.verify_message}")
    if name == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return HandshakeFailure(_MISSING, "it showed no certificate, and ssl.client.auth is required")
    if name in _PLAINTEXT:
        return HandshakeFailure(
            PLAINTEXT_ON_TLS,
            "it sent plaintext to a port that speaks TLS: its security.protocol is SSL or SASL_SSL",
        )
    if name in _CERTIFICATE_REFUSED:
        detail = f"it refused kproxy's certificate: {_CERTIFICATE_REFUSED[name]}"
        return HandshakeFailure(
            _REFUSED, f"{detail}; see its ssl.truststore.location and the host that it dialled"
        )
    return _with_any_peer(error, name, "ssl.enabled.protocols and ssl.cipher.suites")


def failure_with_broker(error: BaseException, host: str) -> HandshakeFailure:
    """Return what it means that a handshake with the broker at `host` ended in `error`."""
    name = _name(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return _untrusted_broker(error, host)
    if name in _PLAINTEXT:
        return HandshakeFailure(PLAINTEXT_ON_TLS, "it answered in plaintext: see upstream.security.protocol")
    if name in _CERTIFICATE_REFUSED:
        detail = f"it refused kproxy's certificate: {_CERTIFICATE_REFUSED[name]}"
        return HandshakeFailure(_REFUSED, f"{detail}; see upstream.ssl.keystore.location")
    if isinstance(error, ConnectionError) and not isinstance(error, ConnectionAbortedError):
        # What a plaintext listener of Kafka's does: to it a ClientHello is a request of 369 MB.
        detail = (
            "it closed the connection in the middle of the TLS handshake: its listener may speak plaintext"
        )
        return HandshakeFailure(HANDSHAKE_ABANDONED, detail)
    return _with_any_peer(error, name, "upstream.ssl.enabled.protocols and upstream.ssl.cipher.suites")


def failure_with_peer(error: BaseException, _host: str = "") -> HandshakeFailure:
    """Return what it means that a handshake with another kproxy process ended in `error`, whichever dialled."""
    name = _name(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        detail = f"its certificate is not trusted: {error.verify_message}"
        return HandshakeFailure(_UNTRUSTED, f"{detail}; see kproxy.fleet.ssl.truststore.location")
    if name == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return HandshakeFailure(_MISSING, f"it showed no certificate: {_SAME_KEYS}")
    if name in _PLAINTEXT:
        return HandshakeFailure(PLAINTEXT_ON_TLS, f"it sent plaintext, and TLS is expected: {_SAME_KEYS}")
    if name in _CERTIFICATE_REFUSED:
        detail = f"it refused the certificate of this process: {_CERTIFICATE_REFUSED[name]}"
        return HandshakeFailure(_REFUSED, f"{detail}; see its kproxy.fleet.ssl.truststore.location")
    is_timeout = isinstance(error, ConnectionAbortedError)
    if (isinstance(error, ConnectionError) and not is_timeout) or name == "UNEXPECTED_EOF_WHILE_READING":
        # asyncio and uvloop by themselves send no alert when a handshake fails on their side.
        return HandshakeFailure(
            HANDSHAKE_ABANDONED,
            "it left in the middle of the TLS handshake: it may speak plaintext, or not trust the certificate of this "
            f"process ({_SAME_KEYS})",
        )
    return _with_any_peer(error, name, "the OpenSSL that either was built with")


def is_refusal(error: BaseException | None) -> bool:
    """Tell whether a peer ended it with a TLS alert: in TLSv1.3 it judges certificates after the handshake."""
    return isinstance(error, ssl.SSLError)


def _untrusted_broker(error: ssl.SSLCertVerificationError, host: str) -> HandshakeFailure:
    message = error.verify_message or str(error)
    if "match" in message.casefold():
        detail = (
            f"its certificate does not name {host!r}: {message}; kproxy dials what advertised.listeners says"
        )
        return HandshakeFailure("certificate_name_mismatch", detail)
    detail = f"its certificate is not trusted: {message}; see upstream.ssl.truststore.location"
    return HandshakeFailure(_UNTRUSTED, detail)


def _with_any_peer(error: BaseException, name: str, terms: str) -> HandshakeFailure:
    if isinstance(error, ConnectionAbortedError | TimeoutError):
        return HandshakeFailure(HANDSHAKE_TIMEOUT, "the TLS handshake took too long")
    if isinstance(error, ConnectionError) or name == "UNEXPECTED_EOF_WHILE_READING":
        return HandshakeFailure(HANDSHAKE_ABANDONED, "it left in the middle of the TLS handshake")
    words = name.lower().replace("_", " ") or str(error) or type(error).__name__
    if name in _NO_COMMON_TERMS:
        return HandshakeFailure(
            _NO_TERMS, f"no version or cipher suite of TLS in common ({words}): see {terms}"
        )
    return HandshakeFailure(_FAILED, f"the TLS handshake failed: {words}")


def _name(error: BaseException) -> str:
    reason = getattr(error, "reason", None)  # of an error that OpenSSL did not raise it is not set at all
    return reason if isinstance(reason, str) else ""
