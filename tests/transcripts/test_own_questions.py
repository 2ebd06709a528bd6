"""What kproxy itself asks on a client's connection to the broker, while it answers a request of that client."""

import pytest

from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.transcripts.test_order import GROUP_CONFIGS, KEEPALIVE_ANSWER, keepalive
from tests.transcripts.transcript import (
    BROKER,
    CHUNK_SIZES,
    CLIENT,
    Answers,
    AnswersNothingYet,
    Asks,
    KeepsAlive,
    MayNotAsk,
    PassesOn,
    Refuses,
    play,
)
from tests.worlds.conversing import opaque_request, opaque_response, request, response

pytestmark = pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)

SHARE_FETCH = request(78, 1, 20, ShareFetchRequest(group_id="g"))
SHARE_ACKNOWLEDGE = request(79, 1, 30, ShareAcknowledgeRequest(group_id="g"))
OURS = 7
QUESTION = opaque_request(OURS)
ANSWER = opaque_response(OURS)


def test_the_answer_to_a_question_is_kproxys_alone_and_the_client_is_answered_behind_it(
    chunk_bytes: int,
) -> None:
    heard: list[bytes] = []

    play(
        CLIENT >> SHARE_FETCH + opaque_request(3),
        Asks(QUESTION, OURS, heard),
        BROKER << QUESTION,
        BROKER >> ANSWER,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        BROKER << opaque_request(3),
        BROKER >> opaque_response(3),
        CLIENT << opaque_response(3),
        chunk_bytes=chunk_bytes,
    )

    assert heard == [ANSWER[4:]]


def test_questions_one_after_the_other_and_at_once_are_answered_in_their_order(chunk_bytes: int) -> None:
    first: list[bytes] = []
    second: list[bytes] = []

    play(
        CLIENT >> SHARE_FETCH,
        Asks(QUESTION, OURS, first),
        BROKER << QUESTION,
        Asks(opaque_request(8), 8, second),
        BROKER << opaque_request(8),
        BROKER >> ANSWER + opaque_response(8),
        Answers(b"fetched"),
        CLIENT << b"fetched",
        chunk_bytes=chunk_bytes,
    )

    assert (first, second) == ([ANSWER[4:]], [opaque_response(8)[4:]])


def test_a_client_may_use_the_number_of_a_question_and_is_answered_all_the_same(chunk_bytes: int) -> None:
    heard: list[bytes] = []

    play(
        CLIENT >> request(78, 1, OURS, ShareFetchRequest(group_id="g")) + opaque_request(OURS),
        Asks(QUESTION, OURS, heard),
        BROKER << QUESTION,
        BROKER >> ANSWER,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        BROKER << opaque_request(OURS),
        BROKER >> opaque_response(OURS),
        CLIENT << opaque_response(OURS),
        chunk_bytes=chunk_bytes,
    )

    assert heard == [ANSWER[4:]]


def test_an_answer_that_nobody_waits_for_any_more_reaches_no_client(chunk_bytes: int) -> None:
    play(
        CLIENT >> SHARE_FETCH + opaque_request(3) + SHARE_ACKNOWLEDGE,
        Asks(QUESTION, OURS),
        BROKER << QUESTION,
        Answers(b"fetched"),
        BROKER << opaque_request(3),
        AnswersNothingYet(),
        BROKER >> ANSWER,
        CLIENT << b"fetched",
        BROKER >> opaque_response(3),
        CLIENT << opaque_response(3),
        Answers(b"acknowledged"),
        CLIENT << b"acknowledged",
        chunk_bytes=chunk_bytes,
    )


def test_a_question_behind_a_keepalive_is_answered_behind_it(chunk_bytes: int) -> None:
    heard: list[bytes] = []

    play(
        CLIENT >> SHARE_FETCH,
        KeepsAlive(),
        BROKER << keepalive(),
        Asks(QUESTION, OURS, heard),
        BROKER << QUESTION,
        BROKER >> KEEPALIVE_ANSWER + ANSWER,
        Answers(b"fetched"),
        CLIENT << b"fetched",
        chunk_bytes=chunk_bytes,
    )

    assert heard == [ANSWER[4:]]


def test_a_question_about_a_request_that_goes_on_to_the_broker_is_asked_before_it(chunk_bytes: int) -> None:
    play(
        CLIENT >> GROUP_CONFIGS + opaque_request(3),
        Asks(QUESTION, OURS),
        BROKER << QUESTION,
        PassesOn(opaque_request(40)),
        BROKER << opaque_request(40) + opaque_request(3),
        BROKER >> ANSWER + opaque_response(40),
        CLIENT << b"[" + opaque_response(40)[4:] + b"]",
        BROKER >> opaque_response(3),
        CLIENT << opaque_response(3),
        chunk_bytes=chunk_bytes,
    )


def test_nothing_is_asked_while_the_broker_owes_the_client_a_response(chunk_bytes: int) -> None:
    play(
        CLIENT >> opaque_request(1),
        BROKER << opaque_request(1),
        MayNotAsk(),
        BROKER >> opaque_response(1),
        CLIENT << opaque_response(1),
        chunk_bytes=chunk_bytes,
    )


def test_nothing_is_asked_between_the_steps_of_sasl(chunk_bytes: int) -> None:
    handshake = request(17, 1, 1, SaslHandshakeRequest("SCRAM-SHA-256"))
    told = response(17, 1, 1, SaslHandshakeResponse(mechanisms=["SCRAM-SHA-256"]))
    token = request(36, 2, 2, SaslAuthenticateRequest(b"n,,n=alice,r=nonce"))

    play(
        CLIENT >> handshake,
        BROKER << handshake,
        BROKER >> told,
        CLIENT << told,
        MayNotAsk(),
        CLIENT >> token,
        BROKER << token,
        MayNotAsk(),
        chunk_bytes=chunk_bytes,
    )


def test_a_broker_that_answers_what_was_not_asked_is_refused(chunk_bytes: int) -> None:
    play(
        CLIENT >> SHARE_FETCH,
        Asks(QUESTION, OURS),
        BROKER << QUESTION,
        BROKER >> opaque_response(20),
        Refuses("correlation_id_mismatch"),
        chunk_bytes=chunk_bytes,
    )
