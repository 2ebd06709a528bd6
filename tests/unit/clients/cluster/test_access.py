"""How a client proves to a broker who it is; brokers with TLS and SASL are in tests/kafka/test_secured_clusters.py."""

from collections.abc import Sequence
from typing import Any

import pytest

from kproxy.clients.cluster.access import IN_PLAINTEXT, authenticate
from kproxy.clients.failures import ClientFailed, NotAllowed
from kproxy.security.logins import BearerLogin, PlainLogin, SaslLogin
from kproxy.security.scram import ScramLogin
from kproxy.wire.codecs import Message
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse

AGREED = SaslHandshakeResponse(mechanisms=["PLAIN", "OAUTHBEARER", "SCRAM-SHA-256"])


class ScriptedConnection:
    """Implements `AskingConnection` with answers that are given one after the other."""

    peer = "broker1:9092"

    def __init__(self, answers: Sequence[Message]) -> None:
        self._answers = list(answers)
        self.tokens: list[bytes] = []

    def ask(
        self,
        request: Message,
        response_class: Any,
        *,
        oldest: int = 0,  # noqa: ARG002 - as of the port
        newest: int = 0,  # noqa: ARG002
    ) -> Any:
        if isinstance(request, SaslAuthenticateRequest):
            self.tokens.append(request.auth_bytes)
        answer = self._answers.pop(0)
        assert isinstance(answer, response_class)
        return answer


def test_a_login_says_what_it_has_to_say() -> None:
    # Given
    connection = ScriptedConnection([AGREED, SaslAuthenticateResponse()])

    # When
    authenticate(connection, PlainLogin("alice", "wonderland"))

    # Then
    assert connection.tokens == [b"\0alice\0wonderland"]


@pytest.mark.parametrize(
    ("login", "answers", "words"),
    [
        (
            PlainLogin("alice", "wrong"),
            [AGREED, SaslAuthenticateResponse(58, "Invalid username or password")],
            "broker1:9092 does not take these credentials (PLAIN): Invalid username or password",
        ),
        (
            BearerLogin("expired"),
            [
                AGREED,
                SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}'),
                SaslAuthenticateResponse(58, None),
            ],
            "broker1:9092 does not take these credentials (OAUTHBEARER): SASL_AUTHENTICATION_FAILED",
        ),
        (
            PlainLogin("alice", "a"),
            [SaslHandshakeResponse(33, ["GSSAPI"])],
            "broker1:9092 does not enable PLAIN, but GSSAPI: set sasl.mechanism",
        ),
        (
            ScramLogin("SCRAM-SHA-256", "alice", "wonderland", "nonce"),
            [AGREED, SaslAuthenticateResponse(auth_bytes=b"r=another,s=c2FsdA==,i=4096")],
            "broker1:9092: the broker's first message is none of SCRAM's, or answers somebody else's",
        ),
    ],
)
def test_a_broker_that_does_not_let_a_client_in_is_quoted(
    login: SaslLogin, answers: Sequence[Message], words: str
) -> None:
    with pytest.raises(NotAllowed) as refusal:
        authenticate(ScriptedConnection(answers), login)
    assert str(refusal.value) == words


def test_a_broker_that_asks_nobody_who_it_is_is_a_failure() -> None:
    connection = ScriptedConnection([SaslHandshakeResponse(34)])
    with pytest.raises(ClientFailed, match=r"ILLEGAL_SASL_STATE .*: it may not ask for SASL"):
        authenticate(connection, PlainLogin("alice", "a"))


def test_what_a_handshake_met_is_told_as_it_is_where_nobody_has_better_words() -> None:
    assert IN_PLAINTEXT.words_of(OSError("no"), "broker1") == "the TLS handshake failed: no"
