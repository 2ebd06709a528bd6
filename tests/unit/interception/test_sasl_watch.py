"""Who a client is, learned from its exchange with the broker, however that is cut and pipelined."""

import tracemalloc
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.interception.sasl_watch import MAX_SASL_BYTES, SaslWatch
from kproxy.security.principal import ANONYMOUS, UNKNOWN, Principal
from kproxy.security.sasl_claims import MOST_SCRAM_BYTES, MOST_TOKEN_BYTES
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.worlds.conversing import Conversation, opaque_request, opaque_response, request, response

ALICE = Principal("User", "alice")
PAYLOAD = urlsafe_b64encode(b'{"sub":"alice"}').rstrip(b"=")
BEARER = b"n,,\x01auth=Bearer e30." + PAYLOAD + b".\x01\x01"
EXCHANGES: dict[str, list[tuple[bytes, bytes]]] = {
    "PLAIN": [(b"\0alice\0secret", b"")],
    "SCRAM-SHA-256": [(b"n,,n=alice,r=ab", b"r=abc,s=eA==,i=4096"), (b"c=biws,r=abc,p=eA==", b"v=eA==")],
    "SCRAM-SHA-512": [(b"n,,n=alice,r=ab", b"r=abc,s=eA==,i=4096"), (b"c=biws,r=abc,p=eA==", b"v=eA==")],
    "OAUTHBEARER": [(BEARER, b"")],
}
SASL_REFUSED = 58
ILLEGAL_STATE = 34


class Exchange:
    """The frames of one exchange, in order, as both sides send them."""

    def __init__(
        self,
        mechanism: str,
        *,
        version: int = 2,
        numbers: Iterator[int] | None = None,
        lifetime_ms: int = 0,
        steps: Sequence[tuple[bytes, bytes]] | None = None,
    ) -> None:
        numbers = numbers or count(1)
        number = next(numbers)
        self.requests = [request(17, 1, number, SaslHandshakeRequest(mechanism=mechanism))]
        self.responses = [response(17, 1, number, SaslHandshakeResponse(mechanisms=[mechanism]))]
        self.refusals = [
            response(17, 1, number, SaslHandshakeResponse(error_code=ILLEGAL_STATE, mechanisms=[]))
        ]
        for token, challenge in EXCHANGES[mechanism] if steps is None else steps:
            number = next(numbers)
            said = SaslAuthenticateRequest(auth_bytes=token)
            answered = SaslAuthenticateResponse(auth_bytes=challenge, session_lifetime_ms=lifetime_ms)
            refused = SaslAuthenticateResponse(error_code=SASL_REFUSED, error_message="no")
            self.requests.append(request(36, version, number, said))
            self.responses.append(response(36, version, number, answered))
            self.refusals.append(response(36, version, number, refused))


def test_one_after_the_other_each_step_passes_and_the_last_one_tells() -> None:
    # Given
    conversation, exchange = Conversation(), Exchange("SCRAM-SHA-256")
    known: list[Principal] = []

    # When
    for asked, answered in zip(exchange.requests, exchange.responses, strict=True):
        assert conversation.client_sends(asked) == asked
        known.append(conversation.session.principal)
        assert conversation.broker_sends(answered) == answered
        known.append(conversation.session.principal)

    # Then
    assert known == [ANONYMOUS] * 5 + [ALICE]


@given(
    mechanism=st.sampled_from(sorted(EXCHANGES)),
    version=st.integers(0, 2),
    refused_at=st.integers(0, 3),
    data=st.data(),
)
def test_however_it_is_cut_nobody_is_known_before_the_broker_is_convinced(
    mechanism: str, version: int, refused_at: int, data: st.DataObject
) -> None:
    # Given
    conversation, exchange = Conversation(), Exchange(mechanism, version=version)
    answers = [
        refusal if step == refused_at else answer
        for step, (answer, refusal) in enumerate(zip(exchange.responses, exchange.refusals, strict=True))
    ]
    is_refused = refused_at < len(answers)
    asked, answered = (
        b"".join(exchange.requests) + opaque_request(99),
        b"".join(answers) + opaque_response(99),
    )
    to_broker = b"".join(conversation.client_sends(part) for part in cut(asked, data))
    to_client, came, known_too_early = b"", 0, set()

    # When
    for part in cut(answered, data):
        to_client += conversation.broker_sends(part)
        came += len(part)
        if came < sum(map(len, answers)):
            known_too_early.add(conversation.session.principal)

    # Then
    assert (to_broker, to_client) == (asked, answered)
    assert known_too_early <= {ANONYMOUS}
    assert conversation.session.principal == (ANONYMOUS if is_refused else ALICE)


def cut(stream: bytes, data: st.DataObject) -> list[bytes]:
    """Cut a stream anywhere."""
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    return [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]


def learned(*exchanges: Exchange, watch: SaslWatch | None = None) -> Conversation:
    """Return a conversation in which every exchange went well."""
    conversation = Conversation(sasl=watch)
    for exchange in exchanges:
        conversation.client_sends(b"".join(exchange.requests))
        conversation.broker_sends(b"".join(exchange.responses))
    return conversation


def test_what_was_proven_last_counts() -> None:
    # Given
    numbers = count(1)
    first = Exchange("PLAIN", numbers=numbers)
    second = Exchange("PLAIN", numbers=numbers, steps=[(b"\0bob\0secret", b"")])

    # When
    conversation = learned(first, second)

    # Then
    assert conversation.session.principal == Principal("User", "bob")


def test_a_second_exchange_that_fails_changes_nothing_and_the_broker_closes() -> None:
    # Given
    numbers = count(1)
    conversation = learned(Exchange("PLAIN", numbers=numbers))
    again = Exchange("PLAIN", numbers=numbers, steps=[(b"\0bob\0wrong", b"")])

    # When
    conversation.client_sends(b"".join(again.requests))
    conversation.broker_sends(again.responses[0] + again.refusals[1])

    # Then
    assert conversation.session.principal == ALICE


def test_a_token_without_a_handshake_proves_nothing_whatever_the_broker_says() -> None:
    # Given
    conversation, exchange = Conversation(), Exchange("PLAIN")

    # When
    conversation.client_sends(exchange.requests[1])
    conversation.broker_sends(exchange.responses[1])

    # Then
    assert conversation.session.principal == ANONYMOUS


@pytest.mark.parametrize("mechanism", ["GSSAPI", "AWS_MSK_IAM"])
def test_who_authenticates_by_a_mechanism_that_nobody_looks_into_is_unknown(mechanism: str) -> None:
    # Given
    exchange = Exchange(mechanism, steps=[(b"\0alice\0secret", b"more"), (b"more", b"")])

    # When
    session = learned(exchange).session

    # Then
    assert session.principal == UNKNOWN
    assert session.sasl.proof is not None
    assert session.sasl.proof.mechanism == mechanism


def test_the_lifetime_of_a_session_is_told() -> None:
    # Given
    told: list[int] = []
    watch = SaslWatch(on_proof=lambda watch: told.append(watch.proof.lifetime_ms if watch.proof else -1))

    # When
    learned(Exchange("SCRAM-SHA-512", lifetime_ms=3_600_000), watch=watch)

    # Then
    assert told == [3_600_000]


@pytest.mark.parametrize(("now_ms", "is_late"), [(None, False), (100, False), (101, True)])
def test_a_session_that_has_expired_is_served_no_more(now_ms: int | None, *, is_late: bool) -> None:
    # Given
    session = learned(Exchange("PLAIN")).session
    session.sasl.expires_ms = 100

    # When
    refusal = reason_of_refusal(session.sasl, now_ms)

    # Then
    assert refusal == ("sasl_session_expired" if is_late else "")


@pytest.mark.parametrize("is_required", [False, True])
def test_who_has_not_authenticated_is_served_where_nobody_has_to(*, is_required: bool) -> None:
    assert reason_of_refusal(SaslWatch(is_required=is_required), 0) == (
        "illegal_sasl_state" if is_required else ""
    )


def reason_of_refusal(watch: SaslWatch, now_ms: int | None) -> str:
    """Return why a client is not served, empty if it is."""
    try:
        watch.require_proof(now_ms)
    except PeerViolation as violation:
        return violation.reason
    return ""


def test_what_is_answered_at_once_waits_for_a_proof_too() -> None:
    # Given
    conversation = Conversation(sasl=SaslWatch(is_required=True))
    sought = FindCoordinatorRequest(key_type=2, coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAA:0"])

    # When, then
    with pytest.raises(PeerViolation, match="before the client has authenticated"):
        conversation.client_sends(request(10, 6, 1, sought))


def test_no_keepalive_comes_between_the_tokens_of_an_exchange() -> None:
    # Given
    conversation, exchange = Conversation(), Exchange("PLAIN")
    conversation.client_sends(exchange.requests[0])
    conversation.broker_sends(exchange.responses[0])
    injected = [conversation.session.inject_keepalive()]

    # When
    conversation.client_sends(exchange.requests[1])
    conversation.broker_sends(exchange.responses[1])

    # Then
    assert [*injected, conversation.session.inject_keepalive()] == [False, True]


def test_a_token_that_cannot_be_read_is_not_told_to_anybody() -> None:
    # Given
    conversation, exchange = Conversation(), Exchange("PLAIN", version=2)
    frame = bytearray(exchange.requests[1])
    frame[frame.index(b"\0alice\0secret") - 1] = 0x7F

    # When
    with pytest.raises(PeerViolation) as violation:
        conversation.client_sends(bytes(frame))

    # Then
    assert violation.value.reason == "malformed_request"
    assert "secret" not in str(violation.value)


# ------------------------------------------------ tokens that are large, or that nobody has believed yet


@pytest.mark.parametrize("size", [MAX_SASL_BYTES - 100, MAX_SASL_BYTES + 1])
def test_a_token_that_no_broker_takes_ends_the_connection_when_its_first_bytes_have_come(size: int) -> None:
    # Given
    conversation = Conversation(max_request_bytes=100 << 20)
    asked = request(36, 2, 1, SaslAuthenticateRequest(auth_bytes=bytes(size)))

    # When
    reason = ""
    try:
        conversation.client_sends(asked[:20])
    except PeerViolation as violation:
        reason = violation.reason

    # Then
    assert reason == ("frame_too_large" if size > MAX_SASL_BYTES else "")


@pytest.mark.parametrize("mechanism", sorted(EXCHANGES))
def test_who_proves_it_with_a_token_too_large_to_be_looked_into_is_unknown(mechanism: str) -> None:
    # Given
    (token, challenge), *more = EXCHANGES[mechanism]
    large = token.replace(b"alice", b"a" * (MOST_TOKEN_BYTES + 1)) if b"alice" in token else token * 4096
    exchange = Exchange(mechanism, steps=[(large, challenge), *more])

    # When
    session = learned(exchange).session

    # Then
    assert session.principal == UNKNOWN


def test_a_token_costs_no_more_than_its_bytes_before_the_broker_is_convinced() -> None:
    # Given: one that takes a hundred times its bytes when it is taken apart
    (token, challenge), last = EXCHANGES["SCRAM-SHA-256"]
    costly = token + b",x" * ((MOST_SCRAM_BYTES - len(token)) // 2)
    conversation, exchange = Conversation(), Exchange("SCRAM-SHA-256", steps=[(costly, challenge), last])

    learned(Exchange("SCRAM-SHA-256"))  # what the first one of a process imports is not the token's

    # When
    tracemalloc.start()
    conversation.client_sends(b"".join(exchange.requests))
    conversation.broker_sends(b"".join(exchange.responses[:-1]))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    conversation.broker_sends(exchange.responses[-1])

    # Then
    assert peak_bytes < 10 * MOST_SCRAM_BYTES
    assert conversation.session.principal == ALICE


def test_of_tokens_that_are_sent_without_waiting_one_is_kept() -> None:
    # Given
    conversation = Conversation(max_request_bytes=100 << 20)
    steps = [(bytes(MOST_TOKEN_BYTES), b"")] * 50
    exchange = Exchange("PLAIN", steps=steps)
    tracemalloc.start()

    # When
    for asked in exchange.requests:
        conversation.client_sends(asked)
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Then
    assert kept_bytes < 3 * MOST_TOKEN_BYTES
