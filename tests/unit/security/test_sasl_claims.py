"""Who a client says it is, as brokers read it."""

import json
import tracemalloc
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.security.logins import BearerLogin, PlainLogin
from kproxy.security.principal import UNKNOWN, Principal
from kproxy.security.sasl_claims import MOST_SCRAM_BYTES, MOST_TOKEN_BYTES, claim_in, legible

ALICE = Principal("User", "alice")


def claim(mechanism: str, message: bytes, sub_claim_name: str = "sub") -> Principal | None:
    return claim_in(mechanism, message, sub_claim_name=sub_claim_name)


def encoded(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def token(payload: object, *, signature: str = "") -> str:
    """A JWS in the compact form; without a signature it is unsecured."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return f"{encoded(json.dumps({'alg': 'none'}))}.{encoded(text)}.{signature}"


def bearer(payload: object) -> bytes:
    return BearerLogin(token(payload)).begin()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"\0alice\0secret", ALICE),
        (b"alice\0alice\0secret", ALICE),
        (b"\0alice\0", ALICE),
        ("\0älice\0x".encode(), Principal("User", "älice")),
        (b"bob\0alice\0secret", UNKNOWN),
        (b"\0\0secret", UNKNOWN),
        (b"\0alice", UNKNOWN),
        (b"\0alice\0x\0y", UNKNOWN),
        (b"\0\xff\0x", UNKNOWN),
        (b"", UNKNOWN),
    ],
)
def test_plain_has_one_name(message: bytes, expected: Principal) -> None:
    assert claim("PLAIN", message) == expected


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"n,,n=alice,r=abc", ALICE),
        (b"n,a=alice,n=alice,r=abc", ALICE),
        (b"n,,n=a=2Cb=3D,r=abc", Principal("User", "a,b=")),
        (b"n,a=bob,n=alice,r=abc", UNKNOWN),
        (b"n,,n=tokenid,r=abc,tokenauth=true", UNKNOWN),
        (b"c=biws,r=abc,p=def", None),
        (b"", None),
    ],
)
def test_scram_says_it_in_its_first_message(
    mechanism: str, message: bytes, expected: Principal | None
) -> None:
    assert claim(mechanism, message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (bearer({"sub": "alice"}), ALICE),
        (BearerLogin(token({"sub": "alice"}, signature="c2lnbmVk")).begin(), ALICE),
        (bearer({"sub": "alice"}).replace(b"Bearer ", b"bearer  "), ALICE),
        (bearer({"sub": "alice"}).replace(b"n,,", b"n,a=alice,"), ALICE),
        (bearer({"sub": "alice"})[:-1] + b"logicalCluster=lkc-1\x01\x01", ALICE),
        (bearer({"sub": "alice"}).replace(b"n,,", b"n,a=bob,"), UNKNOWN),
        (bearer({"sub": "alice"})[:-1] + b"auth=Bearer x.y.z\x01\x01", UNKNOWN),
        (bearer({"sub": " alice"}), UNKNOWN),
        (bearer({"sub": ""}), UNKNOWN),
        (bearer({"sub": ["alice"]}), UNKNOWN),
        (bearer({"client_id": "alice"}), UNKNOWN),
        (bearer('{"sub": "alice", "sub": "bob"}'), UNKNOWN),
        (bearer(["alice"]), UNKNOWN),
        (bearer("no JSON"), UNKNOWN),
        (bearer("[" * 30_000), UNKNOWN),
        (bearer({"sub": "alice", "more": "x" * MOST_TOKEN_BYTES}), UNKNOWN),
        (BearerLogin("opaque").begin(), UNKNOWN),
        (b"n,,\x01auth=Basic YTpi\x01\x01", UNKNOWN),
        (b"", UNKNOWN),
        (b"\x01", None),
    ],
)
def test_a_token_has_it_in_a_claim(message: bytes, expected: Principal | None) -> None:
    assert claim("OAUTHBEARER", message) == expected


def test_the_brokers_may_have_the_principal_in_another_claim() -> None:
    assert claim("OAUTHBEARER", bearer({"sub": "x", "azp": "alice"}), "azp") == ALICE


@pytest.mark.parametrize("mechanism", ["GSSAPI", "AWS_MSK_IAM", "", "plain"])
def test_of_other_mechanisms_nobody_knows(mechanism: str) -> None:
    assert claim(mechanism, PlainLogin("alice", "x").begin()) == UNKNOWN


@given(mechanism=st.sampled_from(["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI"]), message=st.binary())
def test_whatever_a_client_sends_is_read_without_a_fault(mechanism: str, message: bytes) -> None:
    claimed = claim(mechanism, message)
    assert claimed is None or claimed == UNKNOWN or claimed.name


@pytest.mark.parametrize(
    ("mechanism", "begin", "fill", "end", "most"),
    [
        ("PLAIN", b"\0alice\0", b"s", b"", MOST_TOKEN_BYTES),
        ("PLAIN", b"\0alice\0", b"\0", b"", MOST_TOKEN_BYTES),
        ("SCRAM-SHA-256", b"n,,n=alice,r=", b"n", b"", MOST_SCRAM_BYTES),
        ("SCRAM-SHA-256", b"n,,n=alice,r=n", b",x", b"", MOST_SCRAM_BYTES),
        ("SCRAM-SHA-512", b"n,,n=", b"a", b",r=n", MOST_SCRAM_BYTES),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.", b"b", b".c\x01\x01", MOST_TOKEN_BYTES),
    ],
)
def test_what_is_larger_than_any_client_sends_is_not_looked_into(
    mechanism: str, begin: bytes, fill: bytes, end: bytes, most: int
) -> None:
    # Given
    message = begin + fill * (8 * 1024 * 1024 // len(fill)) + end
    tracemalloc.start()

    # When
    found = claim(mechanism, message)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Then
    assert found == UNKNOWN
    assert peak_bytes < 64 * 1024
    assert legible(mechanism, message[:most]) == message[:most]
    assert legible(mechanism, message[: most + 1]) == b""


def test_a_plain_message_of_nothing_but_separators_is_no_list_of_names() -> None:
    message = bytes(MOST_TOKEN_BYTES)
    tracemalloc.start()
    found = claim("PLAIN", message)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == UNKNOWN
    assert peak_bytes < 2 * MOST_TOKEN_BYTES
