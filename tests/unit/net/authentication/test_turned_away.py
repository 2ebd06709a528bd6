"""What is said of a broker that closes before it has answered anything."""

import ssl

import pytest

from kproxy.net.authentication.turned_away import turned_away
from kproxy.net.broker_failures import AuthenticationExpected


@pytest.mark.parametrize(
    ("is_encrypted", "words"),
    [
        (False, "b:9092 closed the connection before it answered ApiVersions: it may expect TLS"),
        (True, "it may want a certificate of kproxy's (upstream.ssl.keystore.location)"),
    ],
)
def test_what_may_be_missing_is_named(*, is_encrypted: bool, words: str) -> None:
    # When
    failure = turned_away("b:9092", None, is_encrypted=is_encrypted)

    # Then
    assert words in str(failure)
    assert isinstance(failure, AuthenticationExpected) is not is_encrypted


def test_what_a_broker_says_of_tls_is_told() -> None:
    # Given
    alert = ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] words")
    alert.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"

    # When
    failure = turned_away("b:9092", alert, is_encrypted=True)

    # Then
    assert str(failure).startswith("b:9092: ")
    assert not isinstance(failure, AuthenticationExpected)
