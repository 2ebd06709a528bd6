"""Every field of a version is told by Kafka's name, and nothing of what clients wrote."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kproxy.clients.frames.message_fields import fields_of
from kproxy.notation import camel_case
from kproxy.wire.message_schema import Message
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES, RESPONSE_CLASSES
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record
from tests.worlds.message_values import messages_of

CLASSES = [*REQUEST_CLASSES.values(), *RESPONSE_CLASSES.values()]


@st.composite
def any_message(draw: st.DrawFn) -> tuple[Message, int]:
    message_class = draw(st.sampled_from(CLASSES))
    versions = message_class.SCHEMA.valid_versions
    version = draw(st.integers(versions.first, versions.last))
    return draw(messages_of(message_class, version, short=True)), version


@given(any_message())
def test_every_field_that_a_version_carries_is_told_as_json(drawn: tuple[Message, int]) -> None:
    # Given
    message, version = drawn

    # When
    shown: dict[str, Any] = json.loads(json.dumps(fields_of(message, version)))

    # Then
    carried = {camel_case(field.name) for field in message.SCHEMA.fields if version in field.versions}
    assert carried <= shown.keys()


def test_an_error_code_has_its_name_beside_it() -> None:
    # When
    shown = fields_of(ShareGroupHeartbeatResponse(error_code=25), 1)

    # Then
    assert (shown["errorCode"], shown["error"]) == (25, "UNKNOWN_MEMBER_ID")


def test_of_a_password_only_the_size_is_told() -> None:
    assert fields_of(SaslAuthenticateRequest(auth_bytes=b"\0ann\0secret"), 2) == {
        "authBytes": {"sizeBytes": 11}
    }


def test_of_records_the_offsets_of_their_batches_are_told() -> None:
    # Given
    two = [Record(None, b"secret"), Record(None, b"secret")]
    records = build_batch(two, producer_id=-1, producer_epoch=-1, base_sequence=-1, timestamp_ms=0)
    data = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(records=records)])]

    # When
    shown = fields_of(ProduceRequest(topic_data=data), 9)

    # Then
    told = shown["topicData"][0]["partitionData"][0]["records"]
    assert told["sizeBytes"] == len(records)
    assert told["batches"] == [{"firstOffset": 0, "lastOffset": 1, "sizeBytes": len(records)}]
    assert "secret" not in json.dumps(shown)
