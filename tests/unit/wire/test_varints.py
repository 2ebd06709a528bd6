"""Unsigned varints (KIP-482)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSource, UnencodableMessage
from kproxy.wire.varints import decode_varint, encode_varint, read_varint

ENCODED = {
    0: b"\x00",
    127: b"\x7f",
    128: b"\x80\x01",
    300: b"\xac\x02",
    16383: b"\xff\x7f",
    2**31 - 1: b"\xff\xff\xff\xff\x07",
    2**32 - 1: b"\xff\xff\xff\xff\x0f",
}


@pytest.mark.parametrize(("number", "encoded"), ENCODED.items())
def test_seven_bits_stand_in_each_byte_lowest_first(number: int, encoded: bytes) -> None:
    assert encode_varint(number) == encoded
    assert decode_varint(b"\xff" + encoded + b"\xff", 1) == (number, 1 + len(encoded))


@given(st.integers(0, 2**32 - 1))
def test_every_number_of_32_bits_comes_back(number: int) -> None:
    encoded = encode_varint(number)
    assert decode_varint(encoded, 0) == (number, len(encoded))


def test_a_varint_may_be_longer_than_it_need_be() -> None:
    assert decode_varint(b"\x85\x80\x80\x00", 0) == (5, 4)


@pytest.mark.parametrize("encoded", [b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x7f"])
def test_a_varint_of_more_than_32_bits_is_malformed(encoded: bytes) -> None:
    with pytest.raises(MalformedMessage, match="more than 32 bits"):
        decode_varint(encoded, 0)


def test_a_varint_without_end_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="no end within five bytes"):
        decode_varint(b"\x80\x80\x80\x80\x80\x00", 0)


@pytest.mark.parametrize("number", [-1, 2**32])
def test_a_number_that_does_not_fit_is_not_encoded(number: int) -> None:
    with pytest.raises(UnencodableMessage, match=str(number)):
        encode_varint(number)


def test_reading_moves_on_and_names_the_place_of_what_is_wrong() -> None:
    # Given
    source = ByteSource(b"\xac\x02\x80")
    endless = ByteSource(b"\x80" * 6)

    # When
    number = read_varint(source, "message -> topics")

    # Then
    assert (number, source.position) == (300, 2)
    with pytest.raises(MalformedMessage, match="message -> topics: the message ends within a varint"):
        read_varint(source, "message -> topics")
    with pytest.raises(MalformedMessage, match="message -> size: varint has no end within five bytes"):
        read_varint(endless, "message -> size")
