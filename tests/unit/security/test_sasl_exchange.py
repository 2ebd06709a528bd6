"""When an exchange is over, by what a broker answered without an error."""

import pytest

from kproxy.security.principal import UNKNOWN, Principal
from kproxy.security.sasl_exchange import Proof, SaslExchange

ALICE = Principal("User", "alice")
BOB = Principal("User", "bob")


@pytest.mark.parametrize(
    ("mechanism", "steps", "expected"),
    [
        ("PLAIN", [(ALICE, b"")], [ALICE]),
        ("SCRAM-SHA-256", [(ALICE, b"r=a,s=b,i=4096"), (None, b"v=abc")], [None, ALICE]),
        ("SCRAM-SHA-512", [(ALICE, b"v=abc"), (None, b"e=no")], [None, None]),
        ("SCRAM-SHA-512", [(ALICE, b"r=a,s=b,i=4096"), (BOB, b"v=abc")], [None, ALICE]),
        ("SCRAM-SHA-512", [(None, b"r=a,s=b,i=4096"), (BOB, b"v=abc")], [None, UNKNOWN]),
        ("OAUTHBEARER", [(ALICE, b"")], [ALICE]),
        ("OAUTHBEARER", [(ALICE, b'{"status":"invalid_token"}')], [None]),
        ("OAUTHBEARER", [(ALICE, b"{}"), (BOB, b"")], [None, ALICE]),
        ("GSSAPI", [(UNKNOWN, b"ticket"), (UNKNOWN, b"")], [UNKNOWN, UNKNOWN]),
    ],
)
def test_a_client_is_who_it_first_said_it_is_once_the_broker_is_convinced(
    mechanism: str, steps: list[tuple[Principal | None, bytes]], expected: list[Principal | None]
) -> None:
    # Given
    exchange = SaslExchange(mechanism)

    # When
    proofs = [exchange.answered(claim, challenge, 7) for claim, challenge in steps]

    # Then
    assert proofs == [principal and Proof(principal, mechanism, 7) for principal in expected]


@pytest.mark.parametrize(
    ("mechanism", "tells"), [("PLAIN", True), ("SCRAM-SHA-256", True), ("GSSAPI", False)]
)
def test_the_end_of_what_is_not_looked_into_is_not_known(mechanism: str, *, tells: bool) -> None:
    assert SaslExchange(mechanism).tells_its_end is tells
