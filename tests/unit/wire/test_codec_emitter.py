"""Emitted codecs as a whole; their halves have test files of their own."""

import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.wire.codec_emitter import EmittedCodec, EmittedCodecs, contains_records
from kproxy.wire.message_struct import message_struct
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from tests.unit.wire.sample_message import SAMPLE, SAMPLE_V2, SampleMessage
from tests.worlds.message_values import Values

CODECS = EmittedCodecs()


@pytest.mark.parametrize("version", [0, 1, 2])
@given(data=st.data())
def test_an_emitted_codec_does_what_its_tree_does(version: int, data: st.DataObject) -> None:
    # Given
    message: Any = data.draw(Values(SampleMessage, version).messages())
    codec = CODECS[SampleMessage, version]

    # When
    encoded = b"".join(codec.encode(message))

    # Then
    assert encoded == message_struct(SampleMessage, version).build(message)
    assert codec.decode(encoded, 0) == (message, len(encoded))


def test_codecs_are_made_on_first_use_and_kept() -> None:
    codecs = EmittedCodecs()
    assert not codecs
    assert codecs[SampleMessage, 2] is codecs[SampleMessage, 2]


def test_there_is_no_codec_of_a_version_that_does_not_exist() -> None:
    with pytest.raises(LookupError, match="SampleMessage has no version 3"):
        CODECS[SampleMessage, 3]


def test_a_traceback_shows_the_emitted_line() -> None:
    codec = EmittedCodec(SampleMessage, 2)
    with pytest.raises(Exception, match=r"buffer of at least \d+ bytes") as failure:
        codec.decode(SAMPLE_V2[:5], 0)
    shown = "".join(traceback.format_exception(failure.value))
    assert "<decoder of SampleMessage v2>" in shown
    assert "unpack_from_booldHI16sB(buffer, position)" in shown


def test_decoding_may_begin_anywhere_in_a_buffer() -> None:
    decoded = CODECS[SampleMessage, 2].decode(b"header" + SAMPLE_V2 + b"rest", 6)
    assert decoded == (SAMPLE, 6 + len(SAMPLE_V2))


@pytest.mark.parametrize(
    ("message_class", "version", "contains"),
    [(ProduceRequest, 9, True), (FetchResponse, 4, True), (ShareAcknowledgeRequest, 1, False)],
)
def test_messages_with_records_are_told_from_the_others(
    message_class: Any, version: int, *, contains: bool
) -> None:
    assert contains_records(message_struct(message_class, version)) is contains


def test_the_source_is_the_same_each_time() -> None:
    first, second = EmittedCodec(SampleMessage, 1), EmittedCodec(SampleMessage, 1)
    assert first.source_of_decode().text == second.source_of_decode().text
    assert first.source_of_encode().text == second.source_of_encode().text


def test_a_half_is_made_when_it_is_first_used_and_the_other_is_not() -> None:
    # Given
    codec = EmittedCodec(SampleMessage, 2)
    first_decode, first_encode = codec.decode, codec.encode

    # When
    codec.decode(SAMPLE_V2, 0)

    # Then
    assert codec.decode != first_decode
    assert codec.encode == first_encode
