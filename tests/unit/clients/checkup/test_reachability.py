"""An address is looked at from its name to the login, as far as it can be used."""

import socket

import pytest

from kproxy.clients.checkup.checks import Check, Outcome, Subject
from kproxy.clients.checkup.reachability import broker_checks, login_check
from kproxy.clients.cluster.access import ClusterAccess
from kproxy.clients.cluster.connection import BrokerAddress
from kproxy.security.logins import PlainLogin
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.loop_in_a_thread import loop_in_a_thread

SUBJECT = Subject("broker1:9092")


def checks_of(address: BrokerAddress, access: ClusterAccess | None = None) -> list[Check]:
    return list(broker_checks(SUBJECT, address, access or ClusterAccess(), remedy="open the port"))


def outcomes(checks: list[Check]) -> list[tuple[str, Outcome]]:
    return [(check.name, check.outcome) for check in checks]


def test_a_broker_that_lets_everybody_in_is_well() -> None:
    # Given
    broker = AnsweringBroker()
    with loop_in_a_thread() as loop:
        loop.run(broker.start())

        # When
        checks = checks_of(BrokerAddress("127.0.0.1", broker.address.port))
        loop.run(broker.stop())

    # Then
    assert outcomes(checks) == [("name", Outcome.OK), ("connection", Outcome.OK), ("login", Outcome.OK)]
    assert checks[-1].detail.startswith("a broker answers in plaintext, in ")


def test_a_broker_that_answers_late_is_told_with_how_late() -> None:
    # Given
    broker, moments = AnsweringBroker(), iter([10.0, 11.5])
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        address = BrokerAddress("127.0.0.1", broker.address.port)

        # When
        check = login_check(SUBJECT, address, ClusterAccess(), now_s=lambda: next(moments))
        loop.run(broker.stop())

    # Then
    assert (check.outcome, check.detail) == (
        Outcome.WARNING,
        "a broker answers in plaintext, in 1500.0 ms",
    )
    assert "every append to the state log" in check.remedy


def test_wrong_credentials_are_told_with_what_to_mend() -> None:
    # Given
    broker = AnsweringBroker(
        {
            ApiKey.SASL_HANDSHAKE: lambda _: SaslHandshakeResponse(mechanisms=["PLAIN"]),
            ApiKey.SASL_AUTHENTICATE: lambda _: SaslAuthenticateResponse(
                error_code=58, error_message="Invalid username or password"
            ),
        },
        version_ranges={ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 2)},
    )
    access = ClusterAccess(new_login=lambda: PlainLogin("kproxy", "wrong"))
    with loop_in_a_thread() as loop:
        loop.run(broker.start())

        # When
        checks = checks_of(BrokerAddress("127.0.0.1", broker.address.port), access)
        loop.run(broker.stop())

    # Then
    assert (checks[-1].name, checks[-1].outcome) == ("login", Outcome.FAILED)
    assert "Invalid username or password" in checks[-1].detail
    assert "upstream.sasl" in checks[-1].remedy


def test_where_nobody_listens_the_remedy_is_told_and_no_login_is_tried() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    # When
    checks = checks_of(BrokerAddress("127.0.0.1", port))

    # Then
    assert outcomes(checks) == [("name", Outcome.OK), ("connection", Outcome.FAILED)]
    assert checks[-1].remedy == "open the port"


@pytest.mark.parametrize("host", ["nobody.invalid", "." * 300])
def test_a_name_that_is_not_known_ends_the_look(host: str) -> None:
    # Given
    def unknown(name: str, _port: int) -> list[str]:
        raise (
            OSError(-2, "Name or service not known")
            if name == "nobody.invalid"
            else UnicodeError("label too long")
        )

    # When
    checks = list(
        broker_checks(SUBJECT, BrokerAddress(host, 9092), ClusterAccess(), remedy="", resolve=unknown)
    )

    # Then
    assert outcomes(checks) == [("name", Outcome.FAILED)]
    assert "DNS" in checks[0].remedy
