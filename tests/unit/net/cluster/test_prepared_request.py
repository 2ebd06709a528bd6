import pytest

from kproxy.errors import MalformedMessage
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.cluster.broker_client import ConnectionLimits, dial
from kproxy.net.cluster.prepared_request import PreparedRequest
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.in_memory.answering_broker import response_bytes
from tests.worlds.backing import broker_that, cluster_named

LIMITS = ConnectionLimits(connect_timeout_ms=2_000, request_timeout_ms=2_000, frame_max_bytes=10_000)


def test_it_is_what_encoding_anew_makes_but_for_the_work() -> None:
    message = MetadataRequest(topics=[MetadataRequestTopic(name="orders")], allow_auto_topic_creation=False)

    prepared = PreparedRequest.of(ApiKey.METADATA, 12, "kproxy", message)

    for correlation_id in (1, 2**31 - 1):
        encoded = codecs.encode_request(ApiKey.METADATA, 12, correlation_id, "kproxy", message)
        assert b"".join(prepared.chunks(correlation_id)) == b"".join(encoded)


async def test_a_prepared_request_is_sent_as_often_as_wanted_and_its_answers_are_read_by_who_sent_it() -> (
    None
):
    # Given
    async with broker_that(lambda _: cluster_named("c")) as broker:
        client = await dial(broker.address, LIMITS)
        prepared = PreparedRequest.of(ApiKey.METADATA, 12, "kproxy", MetadataRequest())

        # When
        sizes = [await client.repeat(prepared, len) for _ in range(3)]

        # Then
        [size] = {*sizes}
        [response] = {response_bytes(request, cluster_named("c"))[8:] for request in broker.asked(3)}
        assert size == len(response) + 4
        client.close()


async def test_an_answer_that_who_asked_cannot_read_ends_the_connection() -> None:
    # Given
    def unreadable(_: memoryview) -> None:
        raise MalformedMessage("it is no answer")

    async with broker_that(lambda _: cluster_named("c")) as broker:
        client = await dial(broker.address, LIMITS)
        prepared = PreparedRequest.of(ApiKey.METADATA, 12, "kproxy", MetadataRequest())

        # When
        with pytest.raises(BrokerFailure) as failure:
            await client.repeat(prepared, unreadable)

        # Then
        assert failure.value.reason == "malformed_response"
        assert not client.is_open
