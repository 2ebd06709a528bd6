from collections.abc import Sequence
from itertools import cycle, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.net.cluster.read_buffers import SMALLEST_BYTES, ReadBuffers
from kproxy.net.cluster.response_frames import ResponseFrames

bodies = st.lists(st.binary(min_size=4, max_size=60), max_size=6)


def framed(frames: Sequence[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4) + frame for frame in frames)


def frames_of_at_most(max_bytes: int) -> ResponseFrames:
    return ResponseFrames(max_bytes, ReadBuffers())


def frames_in_chunks(assembling: ResponseFrames, sent: bytes) -> list[memoryview]:
    half = SMALLEST_BYTES // 2
    return [
        frame
        for start in range(0, len(sent), half)
        for frame in assembling.receive(sent[start : start + half])
    ]


@given(frames=bodies, cuts=st.lists(st.integers(min_value=0, max_value=400), max_size=12))
def test_any_chunking_of_the_same_bytes_gives_the_same_frames(frames: list[bytes], cuts: list[int]) -> None:
    # Given
    sent = framed(frames)
    ends = sorted({min(cut, len(sent)) for cut in cuts} | {0, len(sent)})
    assembling = frames_of_at_most(100)

    # When
    received = [
        bytes(frame) for start, end in pairwise(ends) for frame in assembling.receive(sent[start:end])
    ]

    # Then
    assert received == frames
    assert not assembling.is_mid_frame


@given(frames=bodies, reads=st.lists(st.integers(min_value=1, max_value=70), min_size=1))
def test_what_is_read_into_its_buffer_gives_the_same_frames_however_much_each_read_brings(
    frames: list[bytes], reads: list[int]
) -> None:
    # Given
    sent = framed(frames)
    assembling = frames_of_at_most(100)
    received: list[memoryview] = []

    # When
    for most in cycle(reads):
        if not sent:
            break
        buffer = assembling.buffer()
        count = min(most, len(buffer), len(sent))
        buffer[:count] = sent[:count]
        sent = sent[count:]
        received += assembling.filled(count)

    # Then nothing that came later was written over them
    assert [bytes(frame) for frame in received] == frames
    assert not assembling.is_mid_frame


def test_the_rest_of_a_frame_is_read_straight_into_its_own_memory() -> None:
    # Given
    assembling = frames_of_at_most(1_000)
    assembling.receive(framed([bytes(600)])[:104])

    # When
    buffer = assembling.buffer()
    (frame,) = assembling.filled(len(buffer))

    # Then
    assert len(buffer) == 500
    assert frame.obj is buffer.obj


@given(frame=st.binary(min_size=4, max_size=40), kept=st.integers(min_value=1))
def test_a_frame_that_began_and_did_not_end_is_known_to_be_unfinished(frame: bytes, kept: int) -> None:
    # Given
    sent = framed([frame])
    assembling = frames_of_at_most(100)

    # When
    received = assembling.receive(sent[: 1 + kept % (len(sent) - 1)])

    # Then
    assert received == []
    assert assembling.is_mid_frame


def test_a_frame_within_one_chunk_is_not_copied() -> None:
    # Given
    chunk = framed([b"abcdef"])

    # When
    (frame,) = frames_of_at_most(100).receive(chunk)

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
    assembling = frames_of_at_most(100)

    # When
    with pytest.raises(PeerViolation) as violation:
        assembling.receive(first_bytes)

    # Then
    assert violation.value.reason == reason


def test_the_longest_frame_allowed_is_taken() -> None:
    assert len(frames_of_at_most(100).receive(framed([bytes(100)]))[0]) == 100


async def test_memory_of_a_large_frame_is_that_of_a_later_one_but_not_while_it_is_looked_at() -> None:
    # Given
    sent = framed([bytes([7]) * SMALLEST_BYTES, bytes(SMALLEST_BYTES)])

    assembling = frames_of_at_most(SMALLEST_BYTES)
    first, second = frames_in_chunks(assembling, sent)
    records, memory = first[100:200], first.obj
    first.release()

    # When
    third, _ = frames_in_chunks(assembling, sent)
    content = bytes(records)
    records.release()
    fourth, _ = frames_in_chunks(assembling, sent)

    # Then
    assert content == bytes([7]) * 100
    assert all(frame.obj is not memory for frame in (second, third))
    assert fourth.obj is memory
