"""Frames are found in hex and bytes, with their lengths and without."""

import pytest

from kproxy.clients.frames.described_frames import NoFrame
from kproxy.clients.frames.recorded_bytes import bytes_of_hex, frames_in, is_hex_text
from kproxy.wire.codecs import encode_request
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.produce_request import ProduceRequest

FRAME = b"".join(encode_request(18, 3, 1, "me", ApiVersionsRequest("kp", "1")))
PRODUCE = b"".join(encode_request(0, 9, 2, "me", ProduceRequest(acks=-1)))


@pytest.mark.parametrize(
    "text", ["0a0B0c", "0a 0b 0c", "0a:0b:0c", "0x0a,0x0b,0x0c", r"\x0a\x0b\x0c", "0A\n0B\n0C\n"]
)
def test_hex_is_read_as_people_paste_it(text: str) -> None:
    assert bytes_of_hex(text) == b"\x0a\x0b\x0c"


@pytest.mark.parametrize(
    ("text", "why"), [("0a0", "3 digits make no whole byte"), ("0a zz", "'z' is no hex digit")]
)
def test_what_is_no_hex_is_named(text: str, why: str) -> None:
    with pytest.raises(NoFrame, match=why):
        bytes_of_hex(text)


@pytest.mark.parametrize(
    ("content", "is_hex"),
    [(b"00 12\n00 03", True), (b"0x00,0x12", True), (b"\x00\x00\x00\x18", False), (b"", False)],
)
def test_a_file_of_hex_is_told_from_one_of_bytes(content: bytes, *, is_hex: bool) -> None:
    assert is_hex_text(content) == is_hex


def test_frames_come_one_after_the_other_without_their_lengths() -> None:
    assert list(frames_in(FRAME + PRODUCE)) == [FRAME[4:], PRODUCE[4:]]


@pytest.mark.parametrize("frame", [FRAME[4:], PRODUCE[4:]])
def test_a_frame_without_its_length_is_one_frame(frame: bytes) -> None:
    assert list(frames_in(frame)) == [frame]


def test_what_is_cut_off_behind_a_whole_frame_is_refused() -> None:
    with pytest.raises(NoFrame, match=f"there are 8 bytes, {PRODUCE[:8].hex()}"):
        list(frames_in(FRAME + PRODUCE[:8]))
