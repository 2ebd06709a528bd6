"""What construct trees read from and write to."""

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSink, ByteSource, read_exactly


def test_reading_exactly_moves_on_and_copies_nothing() -> None:
    # Given
    buffer = bytearray(b"abcdef")
    source = ByteSource(memoryview(buffer), 1)

    # When
    read = read_exactly(source, 2, "path")
    buffer[1] = ord("X")

    # Then
    assert bytes(read) == b"Xc"
    assert (source.position, source.remaining) == (3, 3)


@pytest.mark.parametrize("count", [4, 2**40, -1])
def test_reading_more_than_remains_is_malformed_and_moves_nothing(count: int) -> None:
    source = ByteSource(b"abc")
    with pytest.raises(MalformedMessage, match=f"header -> name: needs {count} bytes, 3 remain"):
        read_exactly(source, count, "header -> name")
    assert source.position == 0


def test_neighbouring_writes_become_one_chunk_and_records_stay_their_own() -> None:
    # Given
    sink = ByteSink()
    records = memoryview(b"records")

    # When
    sink.write(b"a")
    sink.write(b"b")
    sink.write_records(records)
    sink.write(b"c")

    # Then
    assert sink.chunks() == [b"ab", b"records", b"c"]
    assert sink.chunks()[1] is records


def test_no_chunk_is_empty() -> None:
    sink = ByteSink()
    sink.write_records(b"")
    assert sink.chunks() == []
