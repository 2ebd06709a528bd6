import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.cluster import contact as contact_module
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.contact import ClusterContact
from kproxy.net.cluster.view import TopicIdsMissing
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from tests.event_loops import async_fixture
from tests.in_memory.answering_broker import AnsweringBroker, Reply
from tests.worlds.backing import Backing, ask, broker_that, cluster_named, never


def brokers(*running: AnsweringBroker) -> list[BackingBroker]:
    return [
        BackingBroker(node_id, broker.address.host, broker.address.port)
        for node_id, broker in enumerate(running, start=1)
    ]


@async_fixture
async def first() -> AsyncIterator[AnsweringBroker]:
    async with broker_that(lambda _: cluster_named("1")) as broker:
        yield broker


@async_fixture
async def second() -> AsyncIterator[AnsweringBroker]:
    async with broker_that(lambda _: cluster_named("2")) as broker:
        yield broker


@async_fixture
async def contact(first: AnsweringBroker, second: AnsweringBroker) -> AsyncIterator[ClusterContact]:
    bootstrap_servers = [first.address, second.address]
    async with Backing(bootstrap_servers) as backing:
        yield ClusterContact(bootstrap_servers, backing.connections)


async def test_the_bootstrap_servers_are_asked_in_their_order(
    contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    assert await contact.ask(ask) == "1"
    assert second.accepted_count == 0
    await first.until_connected(0)


async def test_a_bootstrap_server_that_is_down_is_passed_over(
    contact: ClusterContact, first: AnsweringBroker
) -> None:
    # Given
    await first.stop()

    # When
    answer = await contact.ask(ask)

    # Then
    assert answer == "2"
    await first.start()


async def test_known_brokers_are_asked_and_the_one_that_answered_last_comes_first(
    contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    # Given
    contact.learn(brokers(first, second))
    first.answers[3] = lambda _: None
    assert await contact.ask(ask) == "2"
    first.answers[3] = lambda _: cluster_named("1")

    # When
    contact.learn(brokers(first, second))

    # Then
    assert await contact.ask(ask) == "2"


async def test_a_cluster_whose_known_brokers_are_all_gone_is_found_by_the_bootstrap_servers(
    contact: ClusterContact, first: AnsweringBroker
) -> None:
    # Given
    async with broker_that(lambda _: cluster_named("gone")) as gone:
        contact.learn(brokers(gone))
        assert await contact.ask(ask) == "gone"

    # When
    answer = await contact.ask(ask)

    # Then
    assert answer == "1"
    assert first.accepted_count == 1


async def test_a_broker_that_hangs_does_not_hold_up_the_next_one(
    monkeypatch: pytest.MonkeyPatch, contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    # Given
    monkeypatch.setattr(contact_module, "PATIENCE_SECONDS", 0.5)
    contact.learn(brokers(first, second))
    first.answers[3] = never

    # When
    answers = [await contact.ask(ask), await contact.ask(ask)]

    # Then
    assert answers == ["2", "2"]
    assert len(first.asked(ApiKey.METADATA)) == 1


async def test_what_must_not_be_done_twice_is_asked_elsewhere_only_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    # Given
    monkeypatch.setattr(contact_module, "PATIENCE_SECONDS", 0.01)
    contact.learn(brokers(first, second))

    async def answer_late(_: DecodedRequest) -> Reply:
        await asyncio.sleep(0.1)
        return cluster_named("1")

    first.answers[3] = answer_late

    # When
    answer = await contact.ask(ask, is_repeatable=False)

    # Then
    assert answer == "1"
    assert second.asked(ApiKey.METADATA) == []


async def test_when_nobody_answers_everybody_who_was_tried_is_named(
    contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    # Given
    await first.stop()
    await second.stop()

    # When
    with pytest.raises(BrokerUnavailable) as failure:
        await contact.ask(ask)

    # Then
    assert not isinstance(failure.value, AuthenticationExpected)
    assert str(failure.value) == (
        "no broker of the backing cluster answers: "
        f"{first.address} cannot be reached (127.0.0.1: connection refused); "
        f"{second.address} cannot be reached (127.0.0.1: connection refused)"
    )
    await first.start()
    await second.start()


async def test_brokers_that_turn_strangers_away_make_it_a_matter_of_authentication(
    contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    # Given
    await first.stop()
    second.answers[3] = lambda _: None

    # When
    with pytest.raises(AuthenticationExpected, match="it may expect SASL authentication"):
        await contact.ask(ask)

    # Then
    await first.start()


async def test_a_cluster_that_is_unfit_is_not_asked_a_second_time(
    contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    # Given
    async def refuse(_: BrokerClient) -> None:
        raise TopicIdsMissing("no topic ids")

    # When
    with pytest.raises(TopicIdsMissing):
        await contact.ask(refuse)
    contact.learn(brokers(first, second))
    with pytest.raises(TopicIdsMissing):
        await contact.ask(refuse)

    # Then
    assert (first.accepted_count, second.accepted_count) == (2, 0)


# ---- second opinions


@asynccontextmanager
async def three_brokers() -> AsyncIterator[tuple[ClusterContact, list[AnsweringBroker]]]:
    """The first one answered last."""
    async with (
        broker_that(lambda _: cluster_named("1")) as first,
        broker_that(lambda _: cluster_named("2")) as second,
        broker_that(lambda _: cluster_named("3")) as third,
        Backing([first.address]) as backing,
    ):
        contact = ClusterContact([first.address], backing.connections)
        contact.learn(brokers(first, second, third))
        await contact.ask(ask)
        yield contact, [first, second, third]


@pytest.mark.parametrize(
    ("first", "most", "expected"), [(3, 1, {"3"}), (1, 1, {"2"}), (-1, 2, {"2", "3"}), (3, 9, {"2", "3"})]
)
async def test_others_than_the_one_that_answered_last_are_asked_for_their_opinion(
    first: int, most: int, expected: set[str]
) -> None:
    async with three_brokers() as (contact, _):
        answers = await contact.ask_others(ask, first=first, most=most, timeout_ms=5_000)
        assert set(answers) == expected


async def test_others_that_are_away_or_say_nothing_are_left_out() -> None:
    async with three_brokers() as (contact, [_, second, _third]):
        # Given
        await second.stop()

        async def unless_third(client: BrokerClient) -> str | None:
            answer = await ask(client)
            if answer == "3":
                await asyncio.Event().wait()
            return answer

        # When
        answers = await contact.ask_others(unless_third, first=2, most=2, timeout_ms=50)

        # Then
        assert answers == []
        await second.start()


async def test_a_broker_may_answer_although_others_have_said_meanwhile_that_it_left(
    contact: ClusterContact, first: AnsweringBroker, second: AnsweringBroker
) -> None:
    # Given
    contact.learn(brokers(first, second))
    _, stays = brokers(first, second)

    async def question(client: BrokerClient) -> str | None:
        answer = await ask(client)
        contact.learn([stays])
        return answer

    # When
    answer = await contact.ask(question)

    # Then
    assert answer == "1"
    assert await contact.ask(ask) == "2"


async def test_a_broker_may_answer_although_no_broker_is_known_any_more(
    contact: ClusterContact, first: AnsweringBroker
) -> None:
    # Given
    contact.learn(brokers(first))

    async def question(client: BrokerClient) -> str | None:
        answer = await ask(client)
        contact.learn([])
        return answer

    # When
    answer = await contact.ask(question)

    # Then
    assert answer == "1"
