"""`kproxy.wire.produce_acks`: the one field of a Produce that a relay has to know."""

import struct

import pytest

from kproxy.errors import PeerViolation
from kproxy.wire.produce_acks import UNDECIDED, acks_of_produce
from kproxy.wire.request_prefixes import MAX_PREFIX_BYTES

VERSIONS = range(14)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def old_string(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else struct.pack(">h", len(text)) + text.encode()


def compact_string(text: str | None) -> bytes:
    return b"\0" if text is None else varint(len(text) + 1) + text.encode()


def produce(
    version: int,
    acks: int,
    *,
    client_id: str | None = "client",
    transactional_id: str | None = None,
    tags: bytes = b"\0",
) -> bytes:
    body = struct.pack(">hhi", 0, version, 7) + old_string(client_id)
    if version >= 9:
        body += tags + compact_string(transactional_id)
    elif version >= 3:
        body += old_string(transactional_id)
    body += struct.pack(">hi", acks, 30_000) + b"topics"
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [0, 1, -1])
@pytest.mark.parametrize("client_id", [None, "", "x" * 300])
@pytest.mark.parametrize("transactional_id", [None, "t", "t" * 200])
def test_acks_are_found_behind_any_ids(
    version: int, acks: int, client_id: str | None, transactional_id: str | None
) -> None:
    frame = produce(version, acks, client_id=client_id, transactional_id=transactional_id)

    assert acks_of_produce(frame, version) == acks


def test_tags_of_the_header_are_stepped_over() -> None:
    tags = b"\x02" + b"\x00\x03abc" + b"\x81\x01\x01z"

    assert acks_of_produce(produce(11, 0, tags=tags), 11) == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_frame_cut_before_its_acks_leaves_them_undecided(version: int) -> None:
    frame = produce(version, 0, transactional_id="transaction")
    acks_end = len(frame) - len(b"topics") - 4

    found = {acks_of_produce(frame[:cut], version) for cut in range(12, acks_end)}

    assert found == {UNDECIDED}
    assert acks_of_produce(frame[:acks_end], version) == 0


def test_the_frame_may_begin_anywhere_in_the_buffer() -> None:
    assert acks_of_produce(b"before" + produce(9, -1), 9, start=6) == -1


def test_acks_further_in_than_any_client_would_put_them_are_refused() -> None:
    endless_tag = b"\x01\x00" + varint(MAX_PREFIX_BYTES) + bytes(MAX_PREFIX_BYTES)

    with pytest.raises(PeerViolation, match="no acks"):
        acks_of_produce(produce(9, 0, tags=endless_tag), 9)


def test_a_varint_without_end_is_refused() -> None:
    with pytest.raises(PeerViolation, match="varint"):
        acks_of_produce(produce(9, 0, tags=b"\xff\xff\xff\xff\xff\xff"), 9)


def test_more_tags_than_any_client_sends_are_refused_before_they_are_walked_over() -> None:
    tag = b"\x01\x00"
    most = acks_of_produce(produce(9, 0, tags=varint(64) + tag * 64), 9)

    with pytest.raises(PeerViolation, match="65 tags"):
        acks_of_produce(produce(9, 0, tags=varint(65)), 9)

    assert most == 0
