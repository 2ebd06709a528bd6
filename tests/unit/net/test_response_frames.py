from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.net.response_frames import ResponseFrames

bodies = st.lists(st.binary(min_size=4, max_size=60), max_size=6)


def framed(frames: Sequence[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4) + frame for frame in frames)


@given(frames=bodies, cuts=st.lists(st.integers(min_value=0, max_value=400), max_size=12))
def test_any_chunking_of_the_same_bytes_gives_the_same_frames(frames: list[bytes], cuts: list[int]) -> None:
    # Given
    sent = framed(frames)
    ends = sorted({min(cut, len(sent)) for cut in cuts} | {0, len(sent)})
    assembling = ResponseFrames(max_bytes=100)

    # When
    received = [
        bytes(frame) for start, end in pairwise(ends) for frame in assembling.receive(sent[start:end])
    ]

    # Then
    assert received == frames
    assert not assembling.is_mid_frame


@given(frame=st.binary(min_size=4, max_size=40), kept=st.integers(min_value=1))
def test_a_frame_that_began_and_did_not_end_is_known_to_be_unfinished(frame: bytes, kept: int) -> None:
    # Given
    sent = framed([frame])
    assembling = ResponseFrames(max_bytes=100)

    # When
    received = assembling.receive(sent[: 1 + kept % (len(sent) - 1)])

    # Then
    assert received == []
    assert assembling.is_mid_frame


def test_a_frame_within_one_chunk_is_not_copied() -> None:
    # Given
    chunk = framed([b"abcdef"])

    # When
    (frame,) = ResponseFrames(max_bytes=100).receive(chunk)

    # Then
    assert frame.obj is chunk


@pytest.mark.parametrize(
    ("first_bytes", "reason"),
    [
        (b"\x00\x00\x00\x65", "frame_too_large"),
        (b"\x7f\xff\xff\xff", "frame_too_large"),
        (b"\xff\xff\xff\xff", "frame_too_short"),
        (b"\x00\x00\x00\x03", "frame_too_short"),
        (b"\x15\x03\x03\x00", "tls_on_plaintext"),
        (b"HTTP", "http_on_kafka_port"),
    ],
)
def test_a_length_that_no_response_has_is_refused_as_soon_as_it_is_known(
    first_bytes: bytes, reason: str
) -> None:
    # Given
    assembling = ResponseFrames(max_bytes=100)

    # When
    with pytest.raises(PeerViolation) as violation:
        assembling.receive(first_bytes)

    # Then
    assert violation.value.reason == reason


def test_the_longest_frame_allowed_is_taken() -> None:
    assert len(ResponseFrames(max_bytes=100).receive(framed([bytes(100)]))[0]) == 100
