"""`kproxy.wire.request_prefixes`: what stands before a request's own fields, and how far its strings go."""

import struct

import pytest
from hypothesis import given

from kproxy.errors import PeerViolation
from kproxy.wire.request_prefixes import (
    MAX_HEADER_TAGS,
    after_compact_string,
    after_header,
    after_string,
    after_varint,
)
from tests.unit.wire.kafka_varints import expected, varints


def head(client_id: bytes | None, rest: bytes = b"") -> memoryview:
    client = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return memoryview(struct.pack(">ihhi", 99, 11, 9, 7) + client + rest)


@pytest.mark.parametrize(
    ("client_id", "position"),
    [(None, 14), (b"", 14), (b"client", 20), (b"c" * 300, 314)],
)
def test_the_fields_of_an_old_request_begin_behind_the_client_id(
    client_id: bytes | None, position: int
) -> None:
    assert after_header(head(client_id), is_flexible=False) == position


def test_those_of_a_flexible_request_begin_behind_the_tags() -> None:
    two_tags = b"\x02" + b"\x00\x03abc" + b"\x81\x01\x01z"

    positions = [after_header(head(b"c", tags), is_flexible=True) for tags in (b"\0", two_tags)]

    assert positions == [16, 25]


def test_more_tags_than_any_client_sends_are_no_header() -> None:
    most = bytes([MAX_HEADER_TAGS]) + b"\x01\x00" * MAX_HEADER_TAGS

    assert after_header(head(b"", most), is_flexible=True) == 15 + 2 * MAX_HEADER_TAGS
    with pytest.raises(PeerViolation, match="65 tags"):
        after_header(head(b"", b"\x41"), is_flexible=True)


@pytest.mark.parametrize(
    ("data", "end"), [(b"\xff\xff", 2), (b"\x00\x00", 2), (b"\x00\x03abc", 5), (b"\x01\x00", 258)]
)
def test_a_string_ends_where_its_length_says_even_behind_what_has_come(data: bytes, end: int) -> None:
    assert after_string(memoryview(data), 0) == end


@pytest.mark.parametrize(("data", "end"), [(b"\x00", 1), (b"\x01", 1), (b"\x04abc", 4), (b"\x81\x02", 258)])
def test_a_compact_string_does_so_too(data: bytes, end: int) -> None:
    assert after_compact_string(memoryview(data), 0) == end


@pytest.mark.parametrize("missing", [b"", b"\x00"])
def test_a_length_that_has_not_come_whole_is_an_index_error(missing: bytes) -> None:
    with pytest.raises(IndexError):
        after_string(memoryview(missing), 0)


def test_a_varint_has_five_bytes_at_most() -> None:
    assert after_varint(memoryview(b"\xff\xff\xff\xff\x07"), 0) == (2**31 - 1, 5)
    with pytest.raises(PeerViolation, match="five bytes"):
        after_varint(memoryview(b"\xff\xff\xff\xff\xff\x01"), 0)


@given(varints)
def test_a_varint_is_read_as_brokers_read_it_or_refused(encoded: bytes) -> None:
    try:
        found: tuple[int, int] | None = after_varint(memoryview(encoded), 0)
    except PeerViolation:
        found = None

    assert found == expected(encoded)


@pytest.mark.parametrize(
    "encoded", [b"\x87\x80\x80\x80\x10", b"\x81\x80\x80\x80\x08", b"\xff\xff\xff\xff\x0f"]
)
def test_what_brokers_would_read_modulo_two_to_the_32_or_as_null_is_refused(encoded: bytes) -> None:
    with pytest.raises(PeerViolation, match="31 bits"):
        after_compact_string(memoryview(encoded), 0)


@pytest.mark.parametrize("length", [b"\xff\xfe", b"\x80\x00"])
def test_a_negative_length_that_brokers_would_take_for_null_is_refused(length: bytes) -> None:
    for_brokers_null = head(None)[:12].tobytes() + length

    with pytest.raises(PeerViolation, match="length -"):
        after_string(memoryview(length), 0)
    with pytest.raises(PeerViolation, match="length -"):
        after_header(memoryview(for_brokers_null), is_flexible=False)
