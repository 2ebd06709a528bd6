"""What errors of `ssl` are called, and what people are told to do."""

import ssl

import pytest

from kproxy.net.tls.handshakes import (
    failure_with_broker,
    failure_with_client,
    failure_with_peer,
    is_refusal,
)


def ssl_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] words")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "reason", "word"),
    [
        (ssl_error("WRONG_VERSION_NUMBER"), "plaintext_on_tls", "security.protocol is SSL or SASL_SSL"),
        (ssl_error("HTTP_REQUEST"), "plaintext_on_tls", "sent plaintext"),
        (
            ssl_error("PEER_DID_NOT_RETURN_A_CERTIFICATE"),
            "certificate_missing",
            "ssl.client.auth is required",
        ),
        (ssl_error("TLSV1_ALERT_UNKNOWN_CA"), "certificate_refused", "see its ssl.truststore.location"),
        (ssl_error("NO_SHARED_CIPHER"), "no_common_terms", "see ssl.enabled.protocols"),
        (ssl_error("DECRYPTION_FAILED_OR_BAD_RECORD_MAC"), "handshake_failed", "bad record mac"),
        (ConnectionResetError(), "handshake_abandoned", "left in the middle"),
        (ConnectionAbortedError(), "handshake_timeout", "took too long"),
    ],
)
def test_a_handshake_with_a_client_fails_for_a_reason(error: Exception, reason: str, word: str) -> None:
    # When
    failure = failure_with_client(error)

    # Then
    assert failure.reason == reason
    assert word in failure.detail


@pytest.mark.parametrize(
    ("error", "reason", "word"),
    [
        (ssl_error("WRONG_VERSION_NUMBER"), "plaintext_on_tls", "see upstream.security.protocol"),
        (ConnectionResetError(), "handshake_abandoned", "may speak plaintext"),
        (ssl_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "certificate_refused", "it wants one, and got none"),
        (ssl_error("TLSV1_ALERT_UNKNOWN_CA"), "certificate_refused", "see upstream.ssl.keystore.location"),
        (ssl_error("SSLV3_ALERT_HANDSHAKE_FAILURE"), "no_common_terms", "see upstream.ssl.enabled.protocols"),
        (TimeoutError(), "handshake_timeout", "took too long"),
    ],
)
def test_a_handshake_with_a_broker_fails_for_a_reason(error: Exception, reason: str, word: str) -> None:
    # When
    failure = failure_with_broker(error, "broker-1")

    # Then
    assert failure.reason == reason
    assert word in failure.detail


def test_an_alert_behind_the_handshake_is_a_refusal_and_a_reset_is_none() -> None:
    assert is_refusal(ssl_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"))
    assert not is_refusal(ConnectionResetError())
    assert not is_refusal(None)


@pytest.mark.parametrize(
    ("error", "reason", "word"),
    [
        (ssl_error("WRONG_VERSION_NUMBER"), "plaintext_on_tls", "kproxy.fleet.ssl.*"),
        (ssl_error("PEER_DID_NOT_RETURN_A_CERTIFICATE"), "certificate_missing", "kproxy.fleet.ssl.*"),
        (ssl.SSLCertVerificationError(1, "words"), "certificate_untrusted", "kproxy.fleet.ssl.truststore"),
        (ssl_error("TLSV1_ALERT_UNKNOWN_CA"), "certificate_refused", "see its kproxy.fleet.ssl.truststore"),
        (ssl_error("UNSUPPORTED_PROTOCOL"), "no_common_terms", "no version or cipher suite"),
        (ConnectionResetError(), "handshake_abandoned", "may speak plaintext"),
        (ConnectionAbortedError(), "handshake_timeout", "took too long"),
    ],
)
def test_a_handshake_between_processes_fails_for_a_reason(error: Exception, reason: str, word: str) -> None:
    # Given: set by OpenSSL when it verifies
    if isinstance(error, ssl.SSLCertVerificationError):
        error.verify_message = "self-signed certificate"

    # When
    failure = failure_with_peer(error)

    # Then
    assert failure.reason == reason
    assert word in failure.detail
