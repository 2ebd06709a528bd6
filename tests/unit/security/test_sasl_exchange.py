"""When an exchange is over, by what a broker answered without an error."""

from base64 import urlsafe_b64encode

import pytest

from kproxy.security.principal import UNKNOWN, Principal
from kproxy.security.sasl_exchange import Proof, SaslExchange

ALICE = Principal("User", "alice")
BEARER = b"n,,\x01auth=Bearer e30." + urlsafe_b64encode(b'{"sub":"alice"}').rstrip(b"=") + b".\x01\x01"
SCRAM = b"n,,n=alice,r=abc"
OF_BOB = b"n,,n=bob,r=abc"
PROOF = b"c=biws,r=abc,p=eA=="


@pytest.mark.parametrize(
    ("mechanism", "steps", "expected"),
    [
        ("PLAIN", [(b"\0alice\0secret", b"")], [ALICE]),
        ("PLAIN", [(b"", b"")], [UNKNOWN]),
        ("SCRAM-SHA-256", [(SCRAM, b"r=a,s=b,i=4096"), (PROOF, b"v=abc")], [None, ALICE]),
        ("SCRAM-SHA-512", [(SCRAM, b"v=abc"), (PROOF, b"e=no")], [None, None]),
        ("SCRAM-SHA-512", [(SCRAM, b"r=a,s=b,i=4096"), (OF_BOB, b"v=abc")], [None, ALICE]),
        ("SCRAM-SHA-512", [(b"", b"r=a,s=b,i=4096"), (OF_BOB, b"v=abc")], [None, UNKNOWN]),
        ("OAUTHBEARER", [(BEARER, b"")], [ALICE]),
        ("OAUTHBEARER", [(BEARER, b'{"status":"invalid_token"}')], [None]),
        ("OAUTHBEARER", [(BEARER, b"{}"), (b"\x01", b"")], [None, ALICE]),
        ("GSSAPI", [(SCRAM, b"ticket"), (SCRAM, b"")], [UNKNOWN, UNKNOWN]),
    ],
)
def test_a_client_is_who_it_first_said_it_is_once_the_broker_is_convinced(
    mechanism: str, steps: list[tuple[bytes, bytes]], expected: list[Principal | None]
) -> None:
    # Given
    exchange = SaslExchange(mechanism)

    # When
    proofs = [exchange.answered(message, challenge, 7) for message, challenge in steps]

    # Then
    assert proofs == [principal and Proof(principal, mechanism, 7) for principal in expected]


@pytest.mark.parametrize(
    ("mechanism", "tells"), [("PLAIN", True), ("SCRAM-SHA-256", True), ("GSSAPI", False)]
)
def test_the_end_of_what_is_not_looked_into_is_not_known(mechanism: str, *, tells: bool) -> None:
    assert SaslExchange(mechanism).tells_its_end is tells
