"""Record batch headers. kafka-python's builder makes the batches of tests/interop/test_record_batches.py."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import MalformedMessage
from kproxy.wire.record_batches import HEADER_BYTES, BatchExtent, batch_extents


def batch(first_offset: int, count: int, *, body: bytes = b"", attributes: int = 0, magic: int = 2) -> bytes:
    """Return a batch with a header of format v2 and any body."""
    head = struct.pack(">qiibIhi", first_offset, 49 + len(body), 0, magic, 0, attributes, count - 1)
    return head + bytes(HEADER_BYTES - len(head)) + body


def test_every_batch_has_its_offsets_and_its_place() -> None:
    records = memoryview(batch(10, 3, body=b"abc") + batch(13, 1) + batch(20, 5, attributes=0x20))
    assert batch_extents(records) == [
        BatchExtent(first_offset=10, last_offset=12, position=0, size_bytes=64, is_control=False),
        BatchExtent(first_offset=13, last_offset=13, position=64, size_bytes=61, is_control=False),
        BatchExtent(first_offset=20, last_offset=24, position=125, size_bytes=61, is_control=True),
    ]


def test_a_batch_is_cut_out_by_its_extent() -> None:
    records = memoryview(batch(0, 1, body=b"first") + batch(1, 1, body=b"second"))
    extent = batch_extents(records)[1]
    assert records[extent.position : extent.position + extent.size_bytes] == batch(1, 1, body=b"second")


def test_nothing_holds_no_batch() -> None:
    assert batch_extents(memoryview(b"")) == []


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    """Brokers fill MaxBytes to the last byte and cut the last batch off (KIP-74)."""
    whole, cut = batch(0, 2, body=b"abc"), batch(2, 2, body=b"defgh")
    for size in range(len(cut)):
        assert batch_extents(memoryview(whole + cut[:size])) == [BatchExtent(0, 1, 0, 64)]


@pytest.mark.parametrize("magic", [0, 1, 3, -1])
def test_another_format_is_refused_and_named(magic: int) -> None:
    with pytest.raises(MalformedMessage, match=f"byte 61 has magic {magic}; only 2 is supported"):
        batch_extents(memoryview(batch(0, 1) + batch(1, 1, magic=magic)))


NONSENSE = {
    "a length below that of a header": struct.pack(">qiibIhi", 0, 48, 0, 2, 0, 0, 0),
    "a negative length": struct.pack(">qiibIhi", 0, -1, 0, 2, 0, 0, 0),
    "a negative offset": struct.pack(">qiibIhi", -1, 49, 0, 2, 0, 0, 0),
    "an end before its start": struct.pack(">qiibIhi", 5, 49, 0, 2, 0, 0, -1),
    "an offset beyond all bounds": struct.pack(">qiibIhi", 2**63 - 1, 49, 0, 2, 0, 0, 1),
}


@pytest.mark.parametrize("head", NONSENSE.values(), ids=NONSENSE)
def test_a_header_that_cannot_be_true_is_refused(head: bytes) -> None:
    with pytest.raises(MalformedMessage, match="record batch at byte 0"):
        batch_extents(memoryview(head + bytes(100)))


@given(st.binary(max_size=200) | st.binary(max_size=80).map(lambda body: batch(3, 2)[:27] + body))
def test_garbage_gives_extents_within_the_buffer_or_is_malformed(garbage: bytes) -> None:
    try:
        extents = batch_extents(memoryview(garbage))
    except MalformedMessage:
        return
    end = 0
    for extent in extents:
        assert extent.position == end
        end += extent.size_bytes
    assert end <= len(garbage)
