"""Lengths before values."""

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSink, ByteSource, UnencodableMessage
from kproxy.wire.length_prefixes import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH, LengthPrefix

WRITTEN: list[tuple[LengthPrefix, int | None, bytes]] = [
    (INT16_LENGTH, None, b"\xff\xff"),
    (INT16_LENGTH, 0, b"\x00\x00"),
    (INT16_LENGTH, 258, b"\x01\x02"),
    (INT32_LENGTH, None, b"\xff\xff\xff\xff"),
    (INT32_LENGTH, 258, b"\x00\x00\x01\x02"),
    (COMPACT_LENGTH, None, b"\x00"),
    (COMPACT_LENGTH, 0, b"\x01"),
    (COMPACT_LENGTH, 127, b"\x80\x01"),
]


@pytest.mark.parametrize(("prefix", "length", "written"), WRITTEN)
def test_a_length_is_written_and_read_back(prefix: LengthPrefix, length: int | None, written: bytes) -> None:
    sink = ByteSink()
    prefix.write(sink, length)
    assert sink.chunks() == [written]
    assert prefix.read(ByteSource(written), "path") == length


@pytest.mark.parametrize(
    ("prefix", "received"), [(INT16_LENGTH, b"\xff\xfe"), (INT32_LENGTH, b"\x80\x00\x00\x00")]
)
def test_a_length_below_that_of_null_is_malformed(prefix: LengthPrefix, received: bytes) -> None:
    with pytest.raises(MalformedMessage, match="name: length -"):
        prefix.read(ByteSource(received), "name")


@pytest.mark.parametrize("prefix", [INT16_LENGTH, INT32_LENGTH, COMPACT_LENGTH])
def test_a_length_that_is_cut_off_is_malformed(prefix: LengthPrefix) -> None:
    with pytest.raises(MalformedMessage):
        prefix.read(ByteSource(b""), "name")


@pytest.mark.parametrize(
    ("prefix", "length"), [(INT16_LENGTH, 2**15), (INT32_LENGTH, 2**31), (COMPACT_LENGTH, 2**32)]
)
def test_a_length_that_is_too_large_is_not_written(prefix: LengthPrefix, length: int) -> None:
    with pytest.raises(UnencodableMessage):
        prefix.write(ByteSink(), length)
