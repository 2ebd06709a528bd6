"""kio writes every message as we do, and reads ours as what was written."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kproxy.wire.codecs import Message
from tests.interop.kio_messages import kio_class, to_kio
from tests.worlds.both_codecs import decode_with, encode_with
from tests.worlds.message_values import Values, few_examples, message_versions, name_of_version

UNKNOWN_TO_KIO = {
    ("ApiVersionsRequest", 5),
    ("ApiVersionsResponse", 5),
    ("DeleteGroupsRequest", 3),
    ("DeleteGroupsResponse", 3),
}
"""Versions of Kafka 4.4, which kio 0.6.5 does not have."""

# Where kio has types that hold less than the wire does.
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "error_code": st.sampled_from([int(code) for code in ErrorCode]),
    "acknowledge_error_code": st.sampled_from([int(code) for code in ErrorCode]),
    "partition_error_code": st.sampled_from([int(code) for code in ErrorCode]),
    "log_append_time_ms": st.integers(-1, 2**41),
    "session_lifetime_ms": st.integers(0, 2**41),
}

KNOWN_TO_BOTH = [
    (message_class, version)
    for message_class, version in message_versions()
    if message_class.SCHEMA.kind in {"request", "response", "header"}
    and (message_class.__name__, version) not in UNKNOWN_TO_KIO
]


@pytest.mark.parametrize(("message_class", "version"), KNOWN_TO_BOTH, ids=name_of_version)
def test_kio_agrees_byte_for_byte(message_class: type[Message], version: int) -> None:
    # Given
    kio_message_class = kio_class(message_class, version)
    assert kio_message_class is not None
    write, read = entity_writer(kio_message_class), entity_reader(kio_message_class)
    strategy = Values(message_class, version, unknown_tags=False, special=SPECIAL).messages()

    @few_examples(12)
    @given(message=strategy)
    def agrees(message: Any) -> None:
        # When
        ours = encode_with("emitted", message, version)

        # Then
        theirs = io.BytesIO()
        write(theirs, to_kio(message, kio_message_class, version))
        assert ours == theirs.getvalue()
        assert read(ours, 0) == (to_kio(message, kio_message_class, version), len(ours))
        assert decode_with("emitted", message_class, version, theirs.getvalue()) == message

    agrees()
