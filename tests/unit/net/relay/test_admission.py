"""Who may be answered by kproxy itself, in front of brokers that ask who connects."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from kproxy.errors import PeerViolation
from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.interception.client_session import ClientSession
from kproxy.net.relay.admission import Admission
from kproxy.security.principal import ANONYMOUS, UNKNOWN, Principal
from tests.unit.interception.test_sasl_watch import ALICE, Exchange
from tests.worlds.backing import CountedThings
from tests.worlds.conversing import Conversation

ASKING = Admission(is_sasl_required=True)


@dataclass
class Client:
    """A client of kproxy."""

    session: ClientSession
    connection_id: int = 1
    node_id: int = 1
    peer: str = "127.0.0.1:5000"
    refusals: RefusalStreaks = field(default_factory=RefusalStreaks)
    is_gone: bool = False
    is_over: bool = False
    is_relayed: ClassVar = False
    rights: ClassVar = None


def client_that(*exchanges: Exchange, admission: Admission = ASKING) -> Client:
    """Return a client after exchanges that went well."""
    conversation = Conversation(sasl=admission.new_watch())
    for exchange in exchanges:
        conversation.client_sends(b"".join(exchange.requests))
        conversation.broker_sends(b"".join(exchange.responses))
    return Client(conversation.session)


async def test_who_has_not_authenticated_is_cut_off_as_by_a_broker() -> None:
    # When
    with pytest.raises(PeerViolation) as violation:
        ASKING.admit(client_that(), CountedThings())

    # Then
    assert violation.value.reason == "illegal_sasl_state"


async def test_where_brokers_do_not_ask_everybody_is_served() -> None:
    # Given
    client = client_that(admission=Admission())

    # When
    Admission().admit(client, CountedThings())

    # Then
    assert client.session.principal == ANONYMOUS


async def test_who_has_authenticated_is_served_until_the_session_is_over() -> None:
    # Given
    client = client_that(Exchange("PLAIN", lifetime_ms=3_600_000))
    ASKING.admit(client, CountedThings())
    assert client.session.sasl.expires_ms is not None
    client.session.sasl.expires_ms -= 3_600_001

    # When
    with pytest.raises(PeerViolation) as violation:
        ASKING.admit(client, CountedThings())

    # Then
    assert violation.value.reason == "sasl_session_expired"


async def test_a_session_without_a_lifetime_never_ends() -> None:
    assert client_that(Exchange("PLAIN")).session.sasl.expires_ms is None


async def test_the_brokers_claim_names_the_principal() -> None:
    # Given
    renamed = Admission(is_sasl_required=True, sub_claim_name="azp")

    # When
    by_default, by_name = (
        client_that(Exchange("OAUTHBEARER"), admission=admission).session.principal
        for admission in (ASKING, renamed)
    )

    # Then
    assert (by_default, by_name) == (ALICE, UNKNOWN)


async def test_of_a_client_that_nobody_knows_it_is_said_once() -> None:
    # Given
    client, counted = client_that(Exchange("GSSAPI", steps=[(b"ticket", b"")])), CountedThings()

    # When
    for _ in range(3):
        ASKING.admit(client, counted)

    # Then
    assert counted.of("unknown_principals") == 1


async def test_of_clients_that_are_known_nothing_is_said() -> None:
    # Given
    counted = CountedThings()

    # When
    client = client_that(Exchange("SCRAM-SHA-512"))
    ASKING.admit(client, counted)

    # Then
    assert not counted.counts
    assert client.session.principal == Principal("User", "alice")
