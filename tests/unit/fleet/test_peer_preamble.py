"""The bytes of the preamble: cut into frames wherever they are split, and bounded; proofs of a secret."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerRefused
from kproxy.fleet.peer_hello import NONCE_BYTES
from kproxy.fleet.peer_preamble import (
    BY_DIALLER,
    BY_LISTENER,
    MAGIC,
    MOST_FRAME_BYTES,
    FrameReader,
    Kind,
    frame_of,
    is_proof,
    proof_of,
    read_message,
    refusal_frame,
    refusal_in,
)
from kproxy.wire.messages.peer_challenge import PeerChallenge
from kproxy.wire.messages.peer_proof import PeerProof
from kproxy.wire.messages.peer_welcome import PeerWelcome
from tests.unit.fleet.test_peer_hello import HELLO

CHALLENGE = PeerChallenge("token-b", "b", bytes(NONCE_BYTES))


@given(cuts=st.lists(st.integers(1, 30), min_size=1))
def test_frames_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    # Given
    sent = MAGIC + frame_of(Kind.HELLO, HELLO.message()) + frame_of(Kind.PROOF, PeerProof(b"proof")) + b"rest"
    reader, position = FrameReader(expects_magic=True), 0
    kinds: list[int] = []

    # When
    while position < len(sent):
        size = cuts[position % len(cuts)]
        reader.receive(sent[position : position + size])
        position += size
        while len(kinds) < 2 and (frame := reader.take_frame()) is not None:
            kinds.append(frame[0])

    # Then
    assert kinds == [Kind.HELLO, Kind.PROOF]
    assert reader.take_rest() == b"rest"


@pytest.mark.parametrize(
    ("data", "reason", "words"),
    [
        (
            b"GET /metrics",
            "no_kproxy",
            "it speaks HTTP, which the admin port does; this port is for other kproxy",
        ),
        (b"\x16\x03\x01\x02\x00\x01", "no_kproxy", "it began a TLS handshake; this"),
        (
            b"\x00\x00\x00\x20\x00\x12",
            "no_kproxy",
            "it sent what Kafka's clients send, whose port is that of kproxy.listen",
        ),
        (b"PROXY TCP4", "no_kproxy", "it sent a PROXY protocol header"),
        (b"\xffnonsense", "no_kproxy", "it sent something else; this"),
        (b"kproxy\x00\x02", "protocol", "it speaks version 2 between processes, this one version 1"),
        (MAGIC + b"\x7f\xff\xff\xff", "malformed", "length 2147483647, expected 1 to 8192"),
        (MAGIC + b"\xff\xff\xff\xff", "malformed", "length -1, expected 1 to 8192"),
        (MAGIC + bytes(4), "malformed", "length 0, expected 1 to 8192"),
    ],
)
def test_what_is_no_preamble_is_refused_as_soon_as_that_shows(data: bytes, reason: str, words: str) -> None:
    reader = FrameReader(expects_magic=True)
    reader.receive(data)

    with pytest.raises(PeerRefused, match=words) as refused:
        reader.take_frame()

    assert refused.value.reason == reason


@given(data=st.binary(max_size=64))
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    reader = FrameReader(expects_magic=False)
    reader.receive(data)
    with suppress(PeerRefused):  # anything else that is raised fails the test
        while (frame := reader.take_frame()) is not None:
            read_message(frame[1], PeerWelcome)


def test_the_largest_hello_fits() -> None:
    longest = "\U0001f600" * 255
    message = HELLO.message()
    for name in (
        "cluster_id",
        "state_topic",
        "fleet_group",
        "token",
        "name",
        "client_address",
        "client_principal",
    ):
        setattr(message, name, longest)

    assert len(frame_of(Kind.HELLO, message)) <= MOST_FRAME_BYTES


def test_a_refusal_is_told_with_who_refuses_and_why() -> None:
    reader = FrameReader(expects_magic=False)
    reader.receive(refusal_frame(PeerRefused("cluster", "its cluster is " + "x" * 5_000)))

    kind, body = reader.take_frame() or (0, b"")
    told = refusal_in(body, "b")

    assert (kind, told.reason) == (Kind.REFUSAL, "cluster")
    assert str(told).startswith("b refuses: its cluster is xxx")
    assert len(str(told)) < 1_100


def test_a_refusal_without_a_reason_is_refused_itself() -> None:
    reader = FrameReader(expects_magic=False)
    reader.receive(refusal_frame(PeerRefused("", "")))
    _, body = reader.take_frame() or (0, b"")

    with pytest.raises(PeerRefused, match="reason of 0 characters"):
        raise refusal_in(body, "b")


def test_a_proof_differs_by_secret_direction_and_everything_that_was_said() -> None:
    other_hello = type(HELLO)(HELLO.purpose, HELLO.identity, b"\x01" * NONCE_BYTES, HELLO.client)
    proofs = {
        proof_of(b"secret", BY_LISTENER, HELLO, CHALLENGE),
        proof_of(b"secre", BY_LISTENER, HELLO, CHALLENGE),
        proof_of(b"secret", BY_DIALLER, HELLO, CHALLENGE),
        proof_of(b"secret", BY_LISTENER, other_hello, CHALLENGE),
        proof_of(b"secret", BY_LISTENER, HELLO, PeerChallenge("token-b", "b", b"\x01" * NONCE_BYTES)),
        proof_of(b"secret", BY_LISTENER, HELLO, PeerChallenge("token-c", "b", bytes(NONCE_BYTES))),
    }

    assert len(proofs) == 6


def test_a_proof_in_the_challenge_is_no_part_of_what_is_proved() -> None:
    with_proof = PeerChallenge("token-b", "b", bytes(NONCE_BYTES), b"proof")

    assert is_proof(
        proof_of(b"s", BY_LISTENER, HELLO, with_proof), proof_of(b"s", BY_LISTENER, HELLO, CHALLENGE)
    )
