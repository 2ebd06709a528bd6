"""SCRAM: the examples of the standards, and what a broker that is none cannot do."""

import hashlib
import hmac
from base64 import b64encode
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.security.scram import (
    MOST_CHALLENGE_BYTES,
    MOST_ITERATIONS,
    ClientFirst,
    LoginFailed,
    ScramLogin,
    read_client_first,
)

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
"""RFC 7677, section 3."""


def test_the_example_of_the_standard_is_what_a_client_says() -> None:
    # Given
    login = ScramLogin("SCRAM-SHA-256", "user", "pencil", NONCE)

    # When
    said = [login.begin(), login.answer(SERVER_FIRST), login.answer(SERVER_FINAL)]

    # Then
    assert said == [
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        b"c=biws," + SERVER_FIRST.partition(b",")[0] + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        None,
    ]


@pytest.mark.parametrize(
    "server_final", [b"v=" + b64encode(bytes(32)), b"", b"e=other-error", SERVER_FINAL[:-2], b"v="]
)
def test_a_broker_that_does_not_know_the_password_is_no_broker(server_final: bytes) -> None:
    # Given
    login = ScramLogin("SCRAM-SHA-256", "user", "pencil", NONCE)
    login.begin()
    login.answer(SERVER_FIRST)

    # When, then
    with pytest.raises(LoginFailed, match="may be an impostor"):
        login.answer(server_final)


@pytest.mark.parametrize(
    ("server_first", "words"),
    [
        (b"", "none of SCRAM's"),
        (b"\xff\xfe", "none of SCRAM's"),
        (SERVER_FIRST.replace(b"rOpr", b"xOpr"), "answers somebody else's"),
        (f"r={NONCE},s=AAAA,i=4096".encode(), "answers somebody else's"),
        (SERVER_FIRST.replace(b"s=W22", b"s=!!!"), "not in base64"),
        (SERVER_FIRST.replace(b"i=4096", b"i=1"), "iteration count is 1, expected 4096 to"),
        (SERVER_FIRST.replace(b"i=4096", f"i={MOST_ITERATIONS + 1}".encode()), "expected 4096 to 65536"),
    ],
)
def test_a_first_message_that_cannot_be_ends_the_exchange(server_first: bytes, words: str) -> None:
    # Given
    login = ScramLogin("SCRAM-SHA-256", "user", "pencil", NONCE)
    login.begin()

    # When
    with pytest.raises(LoginFailed, match=words) as failure:
        login.answer(server_first)

    # Then
    assert "pencil" not in str(failure.value)


@given(
    mechanism=st.sampled_from([("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")]),
    username=st.text(min_size=1).filter(lambda text: "\0" not in text),
    password=st.text(),
)
def test_a_server_that_computes_as_the_standard_says_lets_in_who_knows_the_password(
    mechanism: tuple[str, str], username: str, password: str
) -> None:
    # Given
    name, hash_name = mechanism
    login, salt = ScramLogin(name, username, password, NONCE), b"salt"
    first = login.begin().decode()
    server_first = f"r={NONCE}more,s={b64encode(salt).decode()},i=4096"

    # When
    final = (login.answer(server_first.encode()) or b"").decode()

    # Then
    without_proof, _, proof = final.rpartition(",p=")
    signed = ",".join((first.removeprefix("n,,"), server_first, without_proof)).encode()
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, 4096)
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), signed, hash_name)
    expected = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    assert proof == b64encode(expected).decode()
    server_signature = hmac.digest(hmac.digest(salted, b"Server Key", hash_name), signed, hash_name)
    assert login.answer(b"v=" + b64encode(server_signature)) is None


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1))
def test_whatever_a_user_is_called_the_name_is_read_back(username: str) -> None:
    # When
    read = read_client_first(ScramLogin("SCRAM-SHA-256", username, "", NONCE).begin())

    # Then
    assert read == ClientFirst(username, "", has_token=False)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"n,,n=alice,r=abc", ClientFirst("alice", "", has_token=False)),
        (b"n,a=bob,n=alice,r=abc", ClientFirst("alice", "bob", has_token=False)),
        (b"n,,n=a=2Cb=3Dc=3D2C,r=abc", ClientFirst("a,b=c=2C", "", has_token=False)),
        (b"n,,n=id,r=abc,tokenauth=true", ClientFirst("id", "", has_token=True)),
        (b"n,,n=alice", None),
        (b"n,,n=a=1Fb,r=abc", None),
        (b"n,,n=alice,r=", None),
        (b"c=biws,r=abc,p=def", None),
        (b"y,,n=alice,r=abc", None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_what_a_client_says_first_is_read_as_brokers_read_it(
    message: bytes, expected: ClientFirst | None
) -> None:
    assert read_client_first(message) == expected


def test_each_login_has_a_proof_of_its_own() -> None:
    # When
    numbers = count()
    firsts = {ScramLogin("SCRAM-SHA-512", "u", "p", f"nonce{next(numbers)}").begin() for _ in range(3)}

    # Then
    assert len(firsts) == 3


def test_a_challenge_that_is_larger_than_any_server_sends_is_not_taken_apart() -> None:
    login = ScramLogin("SCRAM-SHA-256", "alice", "secret", NONCE)
    challenge = f"r={NONCE}x,s=eA==,i=4096".encode() + b",x" * MOST_CHALLENGE_BYTES

    with pytest.raises(LoginFailed, match="8192 at most are expected"):
        login.answer(challenge)
