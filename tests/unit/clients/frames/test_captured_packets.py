"""TCP segments are read out of captures, and other packets are passed over."""

import io
import struct

import dpkt
import pytest

from kproxy.clients.frames.captured_packets import is_capture, segments_of
from kproxy.clients.frames.described_frames import NoFrame
from tests.unit.clients.frames.captures import Capture


@pytest.mark.parametrize("link_type", [dpkt.pcap.DLT_EN10MB, dpkt.pcap.DLT_RAW])
def test_a_segment_has_its_ends_its_bytes_and_its_time(link_type: int) -> None:
    # Given
    capture = Capture(link_type)
    capture.send(b"abc")

    # When
    [segment] = segments_of(capture.file())

    # Then
    assert (segment.source, segment.target) == ("10.0.0.7:50112", "10.0.0.9:9092")
    assert (segment.payload, segment.is_first, segment.at_ms) == (b"abc", False, 1_795_000_000_001)


def test_only_who_opens_the_connection_is_its_client() -> None:
    # Given
    capture = Capture()
    capture.open()

    # When
    opening, answer = segments_of(capture.file())

    # Then
    assert (opening.is_first, opening.is_from_client) == (True, True)
    assert (answer.is_first, answer.is_from_client) == (True, False)


def test_captures_are_told_by_their_first_bytes() -> None:
    assert is_capture(Capture().file().read(4))
    assert not is_capture(b"\0\0\0\x18")


def test_a_link_layer_that_nobody_reads_is_refused() -> None:
    # Given
    file = io.BytesIO()
    dpkt.pcap.Writer(file, linktype=dpkt.pcap.DLT_IEEE802_11)

    # When
    with pytest.raises(NoFrame, match="link type 105") as refused:
        list(segments_of(io.BytesIO(file.getvalue())))

    # Then
    assert "-i any" in str(refused.value)


SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
ODD_RESOLUTION = struct.pack("<IIHHIHH4sHHI", 1, 32, 1, 0, 0, 9, 2, b"\x06\0\0\0", 0, 0, 32)


@pytest.mark.parametrize(
    "content",
    [
        Capture().file().read()[:10],
        SECTION,
        SECTION[:20],
        SECTION[:4] + b"\0" * 40,
        SECTION + struct.pack("<II", 1, 0) + b"\0" * 40,
        SECTION + struct.pack("<II", 1, 2**32 - 8) + b"\0" * 40,
        SECTION + ODD_RESOLUTION,
    ],
    ids=[
        "cut off",
        "no interface",
        "half a section",
        "an empty section",
        "no length",
        "4 GiB",
        "a resolution of two",
    ],
)
def test_a_damaged_capture_is_refused(content: bytes) -> None:
    with pytest.raises(NoFrame, match="damaged"):
        list(segments_of(io.BytesIO(content)))
