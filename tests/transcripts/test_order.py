"""In which order things leave: Kafka works on one request of a connection at a time, and so does kproxy for it."""

import struct

import pytest

from kproxy.interception.keepalive import KEEPALIVE_CORRELATION_ID
from kproxy.wire import codecs
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.produce_response import ProduceResponse
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.transcripts.transcript import (
    BROKER,
    CHUNK_SIZES,
    CLIENT,
    Answers,
    AnswersNothingYet,
    KeepsAlive,
    PassesOn,
    play,
)
from tests.worlds.conversing import (
    Conversation,
    joined,
    opaque_request,
    opaque_response,
    request,
    response,
)

pytestmark = pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)

SHARE_FETCH = request(78, 1, 20, ShareFetchRequest(group_id="g"))
SHARE_ACKNOWLEDGE = request(79, 1, 30, ShareAcknowledgeRequest(group_id="g"))
GROUP_CONFIGS = request(
    32, 4, 40, DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=32)])
)


def produce(
    correlation_id: int, acks: int, *, version: int = 9, transactional_id: str | None = None
) -> bytes:
    message = ProduceRequest(acks=acks, transactional_id=transactional_id, timeout_ms=1)
    return request(0, version, correlation_id, message)


def keepalive() -> bytes:
    """Return what kproxy sends on a silent twin."""
    return joined(
        codecs.encode_request(18, 0, KEEPALIVE_CORRELATION_ID, "kproxy-keepalive", ApiVersionsRequest())
    )


KEEPALIVE_ANSWER = response(18, 0, KEEPALIVE_CORRELATION_ID, ApiVersionsResponse())


@pytest.mark.parametrize("correlation_id", [0, -1, 2**31 - 1, -(2**31), KEEPALIVE_CORRELATION_ID])
def test_a_client_may_use_any_correlation_id_and_the_same_one_again(
    correlation_id: int, chunk_bytes: int
) -> None:
    play(
        CLIENT >> opaque_request(correlation_id) * 2,
        BROKER << opaque_request(correlation_id) * 2,
        BROKER >> opaque_response(correlation_id),
        CLIENT << opaque_response(correlation_id),
        BROKER >> opaque_response(correlation_id),
        CLIENT << opaque_response(correlation_id),
        chunk_bytes=chunk_bytes,
    )


def test_an_acknowledgement_behind_a_produce_is_looked_at_when_the_produce_was_answered(
    chunk_bytes: int,
) -> None:
    produced = response(0, 9, 1, ProduceResponse())

    play(
        CLIENT >> produce(1, -1) + SHARE_ACKNOWLEDGE + opaque_request(3),
        BROKER << produce(1, -1),
        AnswersNothingYet(),
        BROKER >> produced,
        CLIENT << produced,
        Answers(b"acknowledged"),
        CLIENT << b"acknowledged",
        BROKER << opaque_request(3),
        chunk_bytes=chunk_bytes,
    )


def test_a_long_acknowledgement_behind_a_produce_is_answered_in_its_turn_too(chunk_bytes: int) -> None:
    """It is decoded only then."""
    produced = response(0, 9, 1, ProduceResponse())
    long_acknowledgement = request(79, 1, 30, ShareAcknowledgeRequest(group_id="g", member_id="m" * 5_000))

    play(
        CLIENT >> produce(1, -1) + long_acknowledgement + SHARE_FETCH + opaque_request(3),
        BROKER << produce(1, -1),
        AnswersNothingYet(),
        BROKER >> produced,
        CLIENT << produced,
        Answers(b"acknowledged"),
        CLIENT << b"acknowledged",
        Answers(b"fetched"),
        CLIENT << b"fetched",
        BROKER << opaque_request(3),
        chunk_bytes=chunk_bytes,
    )


def join(correlation_id: int, group_id: str) -> bytes:
    return request(11, 9, correlation_id, JoinGroupRequest(group_id=group_id))


def test_a_consumer_that_joins_a_share_group_is_answered_in_its_turn_and_no_broker_hears_of_it(
    chunk_bytes: int,
) -> None:
    play(
        CLIENT >> join(1, "payments") + join(2, "orders") + join(3, "payments"),
        BROKER << join(1, "payments"),
        AnswersNothingYet(),
        BROKER >> opaque_response(1),
        CLIENT << opaque_response(1),
        Answers(b"refused"),
        CLIENT << b"refused",
        BROKER << join(3, "payments"),
        conversation=Conversation(share_group_ids={"orders"}),
        chunk_bytes=chunk_bytes,
    )


def test_a_consumer_whose_groups_id_is_a_share_groups_no_more_is_the_brokers_business(
    chunk_bytes: int,
) -> None:
    joining, conversation = join(1, "orders"), Conversation(share_group_ids={"orders"})
    conversation.client_sends(joining[:-1])

    conversation.routes.serve({})

    play(CLIENT >> joining[-1:], BROKER << joining, conversation=conversation, chunk_bytes=chunk_bytes)


@pytest.mark.parametrize("version", [3, 8, 9, 13])
@pytest.mark.parametrize("transactional_id", [None, "", "t", "t" * 300, "é" * 100])
def test_a_produce_that_wants_no_answer_holds_up_nobody(
    version: int, transactional_id: str | None, chunk_bytes: int
) -> None:
    unanswered = produce(1, 0, version=version, transactional_id=transactional_id)

    play(
        CLIENT >> unanswered + opaque_request(2) + unanswered,
        BROKER << unanswered + opaque_request(2) + unanswered,
        BROKER >> opaque_response(2),
        CLIENT << opaque_response(2),
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize(
    "client_id", [b"\xff\xff", b"\x00\x00", b"\x00\x02id", struct.pack(">h", 3000) + b"c" * 3000]
)
def test_the_acks_of_a_produce_are_found_behind_any_client_id_and_any_tags_of_the_header(
    client_id: bytes, chunk_bytes: int
) -> None:
    tags = b"\x02" + b"\x07\x03abc" + b"\x80\x01\x80\x01" + bytes(128)
    body = b"\x05txid" + struct.pack(">hi", 0, 1000) + b"\x01\x00"
    payload = struct.pack(">hhi", 0, 9, 1) + client_id + tags + body
    unanswered = struct.pack(">i", len(payload)) + payload

    play(
        CLIENT >> unanswered + opaque_request(2),
        BROKER << unanswered + opaque_request(2),
        BROKER >> opaque_response(2),
        CLIENT << opaque_response(2),
        chunk_bytes=chunk_bytes,
    )


def test_share_requests_behind_each_other_are_answered_one_by_one(chunk_bytes: int) -> None:
    play(
        CLIENT >> SHARE_FETCH + SHARE_ACKNOWLEDGE + opaque_request(3) + SHARE_FETCH,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        Answers(b"acknowledged"),
        CLIENT << b"acknowledged",
        BROKER << opaque_request(3),
        AnswersNothingYet(),
        BROKER >> opaque_response(3),
        CLIENT << opaque_response(3),
        Answers(b"fetched again"),
        CLIENT << b"fetched again",
        chunk_bytes=chunk_bytes,
    )


def test_what_kproxy_answers_at_once_waits_for_its_turn(chunk_bytes: int) -> None:
    sought = request(10, 2, 2, FindCoordinatorRequest(key="g:t:0", key_type=2))
    refusal = FindCoordinatorResponse(
        error_code=42,
        error_message="key type 2 (SHARE) needs version 6, this is version 2",
        node_id=-1,
        host="",
        port=-1,
    )

    play(
        CLIENT >> opaque_request(1) + sought + opaque_request(3),
        BROKER << opaque_request(1) + opaque_request(3),
        BROKER >> opaque_response(1) + opaque_response(3),
        CLIENT << opaque_response(1) + response(10, 2, 2, refusal) + opaque_response(3),
        chunk_bytes=chunk_bytes,
    )


def test_requests_that_were_split_between_kproxy_and_the_broker_keep_their_place(chunk_bytes: int) -> None:
    play(
        CLIENT >> opaque_request(1) + GROUP_CONFIGS + opaque_request(3),
        BROKER << opaque_request(1),
        AnswersNothingYet(),
        BROKER >> opaque_response(1),
        CLIENT << opaque_response(1),
        PassesOn(b"the broker's half"),
        BROKER << b"the broker's half" + opaque_request(3),
        BROKER >> opaque_response(40) + opaque_response(3),
        CLIENT << b"[" + opaque_response(40)[4:] + b"]" + opaque_response(3),
        chunk_bytes=chunk_bytes,
    )


def test_a_keepalive_during_a_share_request_changes_no_order(chunk_bytes: int) -> None:
    play(
        CLIENT >> SHARE_FETCH + opaque_request(3) + SHARE_ACKNOWLEDGE,
        KeepsAlive(),
        BROKER << keepalive(),
        Answers(b"fetched"),
        BROKER << opaque_request(3),
        BROKER >> KEEPALIVE_ANSWER,
        CLIENT << b"fetched",
        BROKER >> opaque_response(3),
        CLIENT << opaque_response(3),
        Answers(b"acknowledged"),
        CLIENT << b"acknowledged",
        chunk_bytes=chunk_bytes,
    )


def test_requests_that_come_while_a_keepalive_is_out_are_answered_behind_it(chunk_bytes: int) -> None:
    play(
        KeepsAlive(),
        BROKER << keepalive(),
        CLIENT >> opaque_request(1) + SHARE_FETCH,
        BROKER << opaque_request(1),
        AnswersNothingYet(),
        BROKER >> KEEPALIVE_ANSWER + opaque_response(1),
        CLIENT << opaque_response(1),
        Answers(b"fetched"),
        CLIENT << b"fetched",
        chunk_bytes=chunk_bytes,
    )


def test_a_share_request_alone_behind_a_keepalive_waits_until_the_twin_is_silent_again(
    chunk_bytes: int,
) -> None:
    play(
        KeepsAlive(),
        BROKER << keepalive(),
        CLIENT >> SHARE_FETCH,
        AnswersNothingYet(),
        BROKER >> KEEPALIVE_ANSWER,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        chunk_bytes=chunk_bytes,
    )


def test_a_keepalive_while_a_split_request_is_being_answered_changes_no_order(chunk_bytes: int) -> None:
    play(
        CLIENT >> GROUP_CONFIGS + opaque_request(3),
        KeepsAlive(),
        BROKER << keepalive(),
        PassesOn(b"the broker's half"),
        BROKER << b"the broker's half" + opaque_request(3),
        BROKER >> KEEPALIVE_ANSWER + opaque_response(40) + opaque_response(3),
        CLIENT << b"[" + opaque_response(40)[4:] + b"]" + opaque_response(3),
        chunk_bytes=chunk_bytes,
    )
