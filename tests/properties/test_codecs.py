"""What holds for every version of every message: the emitted codec and the construct tree are the same thing."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import MalformedMessage
from kproxy.wire.codecs import Message
from tests.worlds.both_codecs import CODEC_KINDS, CodecKind, decode_with, encode_with, outcome
from tests.worlds.message_values import (
    few_examples,
    is_flexible,
    message_versions,
    messages_of,
    name_of_version,
)

every_version = pytest.mark.parametrize(("message_class", "version"), message_versions(), ids=name_of_version)
both_codecs = pytest.mark.parametrize("kind", CODEC_KINDS)


@every_version
@few_examples(8)
@given(data=st.data())
def test_both_codecs_write_the_same_bytes_and_read_back_what_was_written(
    message_class: type[Message], version: int, data: st.DataObject
) -> None:
    # Given
    message = data.draw(messages_of(message_class, version))

    # When
    emitted = encode_with("emitted", message, version)

    # Then
    assert emitted == encode_with("construct", message, version)
    assert decode_with("emitted", message_class, version, emitted) == message
    assert decode_with("construct", message_class, version, emitted) == message
    assert decode_with("emitted", message_class, version, memoryview(emitted)) == message


@every_version
@few_examples(25)
@given(data=st.data())
def test_a_message_cut_or_prolonged_anywhere_is_malformed_to_both_codecs(
    message_class: type[Message], version: int, data: st.DataObject
) -> None:
    message = data.draw(messages_of(message_class, version, short=True))
    whole = encode_with("emitted", message, version)
    for wrong in (whole + b"\x00", *(whole[:size] for size in range(len(whole)))):
        for kind in CODEC_KINDS:
            with pytest.raises(MalformedMessage):
                decode_with(kind, message_class, version, wrong)


@every_version
@few_examples(12)
@given(data=st.data())
def test_both_codecs_make_the_same_of_damaged_messages_and_of_garbage(
    message_class: type[Message], version: int, data: st.DataObject
) -> None:
    # Given
    message = data.draw(messages_of(message_class, version))
    damaged = bytearray(encode_with("emitted", message, version))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(damaged)))
        replaced = data.draw(st.integers(0, 2))
        damaged[position : position + replaced] = data.draw(st.binary(max_size=3))

    for buffer in (bytes(damaged), data.draw(st.binary(max_size=60))):
        # When
        emitted = outcome("emitted", message_class, version, buffer)

        # Then
        assert emitted == outcome("construct", message_class, version, buffer)


LARGEST_COUNTS = {
    "int32 2^31 - 1": b"\x7f\xff\xff\xff",
    "varint 2^31 - 1": b"\xff\xff\xff\xff\x07",
    "varint 2^32 - 1": b"\xff\xff\xff\xff\x0f",
    "int32 -1": b"\xff\xff\xff\xff",
    "varint of six bytes": b"\x80\x80\x80\x80\x80\x01",
}


@both_codecs
@pytest.mark.parametrize("count", LARGEST_COUNTS.values(), ids=LARGEST_COUNTS)
def test_a_huge_length_anywhere_in_a_message_allocates_nothing(kind: CodecKind, count: bytes) -> None:
    """A claimed count or length is compared with the bytes that remain before anything is made of it."""
    # Given: the codecs exist, so that only decoding is measured; zeros lead to every later field
    attempts = [
        (message_class, version, bytes(zeros) + count + bytes(40))
        for message_class, version in message_versions()
        for zeros in range(0, 60, 3)
    ]
    for message_class, version, buffer in attempts:
        outcome(kind, message_class, version, buffer)

    # When
    tracemalloc.start()
    for message_class, version, buffer in attempts:
        outcome(kind, message_class, version, buffer)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Then
    assert peak_bytes < 200_000


@pytest.mark.parametrize(
    ("message_class", "version"),
    [found for found in message_versions() if is_flexible(*found)],
    ids=name_of_version,
)
@both_codecs
def test_fields_under_unknown_tags_survive_a_round_trip(
    message_class: type[Message], version: int, kind: CodecKind
) -> None:
    # Given
    newer_fields = ((100, b""), (2**32 - 1, b"from a newer peer"))
    message: Any = message_class()
    message.unknown_tagged_fields = newer_fields
    whole = encode_with(kind, message, version)

    # When
    decoded = decode_with(kind, message_class, version, whole)

    # Then
    assert decoded == message
    assert encode_with(kind, decoded, version) == whole
    assert whole.endswith(b"\x64\x00\xff\xff\xff\xff\x0f\x11from a newer peer")
