"""kafka-python writes every message it knows as we do."""

from typing import Any

import pytest
from hypothesis import given

from kproxy.wire.codecs import Message
from tests.interop.kafka_python_messages import kafka_python_class, to_kafka_python
from tests.worlds.both_codecs import decode_with, encode_with
from tests.worlds.message_values import Values, few_examples, message_versions, name_of_version

KNOWN_TO_BOTH = [
    (message_class, version)
    for message_class, version in message_versions()
    if kafka_python_class(message_class, version) is not None
]


def test_kafka_python_knows_every_message_that_is_older_than_share_groups() -> None:
    known = {message_class.__name__ for message_class, _ in KNOWN_TO_BOTH}
    assert known >= {
        f"{api}{kind}"
        for api in (
            *("ApiVersions", "DescribeCluster", "DescribeConfigs", "Fetch", "FindCoordinator"),
            *("IncrementalAlterConfigs", "InitProducerId", "ListOffsets", "Metadata", "Produce"),
            *("SaslAuthenticate", "SaslHandshake"),
        )
        for kind in ("Request", "Response")
    }


@pytest.mark.parametrize(("message_class", "version"), KNOWN_TO_BOTH, ids=name_of_version)
def test_kafka_python_agrees_byte_for_byte(message_class: type[Message], version: int) -> None:
    # Given
    their_class = kafka_python_class(message_class, version)
    assert their_class is not None

    @few_examples(12)
    @given(message=Values(message_class, version, unknown_tags=False).messages())
    def agrees(message: Any) -> None:
        # When
        ours = encode_with("emitted", message, version)

        # Then
        theirs = to_kafka_python(message, their_class, version)
        assert ours == theirs.encode(version=version)
        assert decode_with("emitted", message_class, version, theirs.encode(version=version)) == message

    agrees()
