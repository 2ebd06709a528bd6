"""Both ends of the preamble against each other, and against bytes that somebody else made."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerRefused
from kproxy.fleet.peer_handshake import Credentials, DiallerHandshake, ListenerHandshake
from kproxy.fleet.peer_hello import NONCE_BYTES, Hello
from kproxy.fleet.peer_preamble import MAGIC, FrameReader, Kind, frame_of, read_message
from kproxy.wire.messages.peer_challenge import PeerChallenge
from kproxy.wire.messages.peer_proof import PeerProof
from kproxy.wire.messages.peer_welcome import PeerWelcome
from tests.unit.fleet.test_peer_hello import HELLO, IDENTITY

OTHER = replace(IDENTITY, token="token-b", name="kproxy b")
SECRETS = (b"the secret of both", None)


def listener(secret: bytes | None, nonce: bytes = b"b" * NONCE_BYTES) -> ListenerHandshake:
    return ListenerHandshake(Credentials(OTHER, nonce, secret))


def dialler(
    secret: bytes | None, *, expected_token: str = "token-b", hello: Hello = HELLO
) -> DiallerHandshake:
    return DiallerHandshake(
        Credentials(hello.identity, hello.nonce, secret), hello, expected_token=expected_token
    )


def converse(dials: DiallerHandshake, listens: ListenerHandshake) -> None:
    """Let both talk until neither has anything to say. Raises PeerRefused."""
    for_listener = dials.begin()
    while for_listener:
        for_listener = dials.receive(listens.receive(for_listener))


@pytest.mark.parametrize("secret", SECRETS)
def test_two_of_one_fleet_welcome_each_other(secret: bytes | None) -> None:
    dials, listens = dialler(secret), listener(secret)

    converse(dials, listens)

    assert dials.is_welcome
    assert listens.welcomed == HELLO


@pytest.mark.parametrize("secret", SECRETS)
def test_what_stands_behind_the_preamble_is_nobody_elses(secret: bytes | None) -> None:
    dials, listens = dialler(secret), listener(secret)
    if secret is None:
        listens.receive(dials.begin() + b"request")
    else:
        proof = dials.receive(listens.receive(dials.begin()))
        listens.receive(proof + b"request")

    assert listens.take_rest() == b"request"


@pytest.mark.parametrize(
    ("of_dialler", "of_listener", "words"),
    [
        (b"one secret", b"another one", "it does not know the secret"),
        (None, b"a secret", "it asks for a secret, and this process has none"),
        (b"a secret", None, "it asks for no secret, and this process has one"),
    ],
)
def test_who_has_another_secret_is_refused_in_words(
    of_dialler: bytes | None, of_listener: bytes | None, words: str
) -> None:
    with pytest.raises(PeerRefused, match=words) as refused:
        converse(dialler(of_dialler), listener(of_listener))

    assert refused.value.reason == "secret"


def test_who_does_not_prove_the_secret_is_refused_and_hears_nothing_of_the_fleet() -> None:
    """Neither of the cluster nor of the topics that would be compared next."""
    listens = listener(b"a secret")
    stranger = replace(HELLO, identity=replace(IDENTITY, cluster_id="another"))
    listens.receive(dialler(None, hello=stranger).begin())

    with pytest.raises(PeerRefused, match="it does not know the secret"):
        listens.receive(frame_of(Kind.PROOF, PeerProof(b"guessed")))

    assert listens.welcomed is None
    assert listens.hello == stranger


@pytest.mark.parametrize("secret", SECRETS)
def test_who_is_of_another_fleet_is_refused_with_what_differs(secret: bytes | None) -> None:
    stranger = replace(HELLO, identity=replace(IDENTITY, cluster_id="another"))

    with pytest.raises(PeerRefused, match="its cluster is another, that of kproxy b is cluster-1"):
        converse(dialler(secret, hello=stranger), listener(secret))


@pytest.mark.parametrize("secret", SECRETS)
def test_another_process_than_the_one_that_was_dialled_is_not_talked_to(secret: bytes | None) -> None:
    with pytest.raises(PeerRefused, match="another process answers there: kproxy b"):
        converse(dialler(secret, expected_token="token-c"), listener(secret))


def test_a_proof_cannot_be_sent_back_to_whom_it_came_from() -> None:
    listens = listener(b"a secret")
    reader = FrameReader(expects_magic=False)
    reader.receive(listens.receive(dialler(b"a secret").begin()))
    _, body = reader.take_frame() or (0, b"")

    challenge = read_message(body, PeerChallenge)

    with pytest.raises(PeerRefused, match="it does not know the secret"):
        listens.receive(frame_of(Kind.PROOF, PeerProof(challenge.proof)))


def test_what_was_said_to_one_listener_is_worth_nothing_to_the_next() -> None:
    dials, first, second = dialler(b"s"), listener(b"s"), listener(b"s", nonce=b"c" * NONCE_BYTES)
    begun = dials.begin()
    proof = dials.receive(first.receive(begun))
    second.receive(begun)

    with pytest.raises(PeerRefused, match="it does not know the secret"):
        second.receive(proof)


@pytest.mark.parametrize(
    "said",
    [
        frame_of(Kind.PROOF, PeerProof(b"x")),
        frame_of(Kind.WELCOME, PeerWelcome("t", "n")),
        frame_of(Kind.HELLO, PeerWelcome("t", "n")),
    ],
)
def test_a_listener_hears_a_hello_first(said: bytes) -> None:

    with pytest.raises(PeerRefused) as refused:
        listener(None).receive(MAGIC + said)

    assert refused.value.reason == "malformed"


def test_who_dials_is_asked_for_no_proof_of_nothing() -> None:
    with pytest.raises(PeerRefused, match="length of the nonce 1"):
        dialler(b"s").receive(frame_of(Kind.CHALLENGE, PeerChallenge("token-b", "b", b"1", b"")))


@given(data=st.binary(max_size=200), secret=st.sampled_from(SECRETS), is_hello_true=st.booleans())
def test_any_bytes_are_taken_or_refused_by_who_listens(
    data: bytes,
    secret: bytes | None,
    is_hello_true: bool,  # noqa: FBT001 - drawn
) -> None:
    listens = listener(secret)
    with suppress(PeerRefused):  # anything else that is raised fails the test
        if is_hello_true:
            listens.receive(dialler(secret).begin())
        listens.receive(data)
    assert secret is None or listens.welcomed is None


@given(data=st.binary(max_size=200), secret=st.sampled_from(SECRETS))
def test_any_bytes_are_taken_or_refused_by_who_dials(data: bytes, secret: bytes | None) -> None:
    dials = dialler(secret)
    with suppress(PeerRefused):  # anything else that is raised fails the test
        dials.receive(data)
    assert not dials.is_welcome


@given(place=st.integers(0, 2000), flipped=st.integers(1, 255), is_first=st.booleans())
def test_with_a_secret_nobody_on_the_way_can_change_what_is_welcomed(
    place: int,
    flipped: int,
    is_first: bool,  # noqa: FBT001 - drawn
) -> None:
    def altered(data: bytes) -> bytes:
        at = place % len(data)
        return data[:at] + bytes([data[at] ^ flipped]) + data[at + 1 :]

    dials, listens = dialler(b"a secret"), listener(b"a secret")
    with suppress(PeerRefused):
        begun = dials.begin()
        challenge = listens.receive(altered(begun) if is_first else begun)
        listens.receive(dials.receive(challenge if is_first else altered(challenge)))

    assert listens.welcomed in {None, HELLO}
    assert not (is_first and listens.welcomed)
