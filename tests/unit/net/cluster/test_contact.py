import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.cluster import contact as contact_module
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.contact import FORMER_VOICE_MS, ClusterContact
from kproxy.net.cluster.view import TopicIdsMissing
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from tests.event_loops import async_fixture
from tests.in_memory.answering_broker import AnsweringBroker, Reply
from tests.in_memory.manual_clock import ManualClock
from tests.unit.net.cluster.few_brokers import (
    brokers,
    one_of_three_brokers,
    one_of_two_bootstrap_servers,
    three_brokers,
)
from tests.worlds.backing import Backing, ask, broker_that, cluster_named, never


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
        yield ClusterContact(bootstrap_servers, backing.connections, backing.clock)


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


@pytest.mark.parametrize(
    ("first", "most", "expected"), [(3, 1, {"3"}), (1, 1, {"2"}), (-1, 2, {"2", "3"}), (3, 9, {"2", "3"})]
)
async def test_others_than_the_one_that_answered_last_are_asked_for_their_opinion(
    first: int, most: int, expected: set[str]
) -> None:
    async with three_brokers() as (contact, _):
        answers = await contact.ask_others(ask, than=1, first=first, most=most, timeout_ms=5_000)
        assert set(answers) == expected


async def test_for_others_that_are_away_or_say_nothing_stands_nothing() -> None:
    async with three_brokers() as (contact, [_, second, _third]):
        # Given
        await second.stop()

        async def unless_third(client: BrokerClient) -> str | None:
            answer = await ask(client)
            if answer == "3":
                await asyncio.Event().wait()
            return answer

        # When
        answers = await contact.ask_others(unless_third, than=1, first=2, most=2, timeout_ms=50)

        # Then
        assert answers == [None, None]
        await second.start()


async def opinions(contact: ClusterContact, *, than: int | None) -> list[str | None]:
    return sorted(
        await contact.ask_others(ask, than=than, first=-1, most=2, timeout_ms=5_000),
        key=lambda answer: answer or "",
    )


async def test_whoever_answered_has_no_second_voice_although_another_answered_later() -> None:
    async with three_brokers() as (contact, _):
        assert await opinions(contact, than=3) == ["1", "2"]


async def test_whose_answer_it_was_is_told_also_where_a_bootstrap_server_gave_it() -> None:
    async with three_brokers() as (contact, [first, second, third]):
        met = await contact.ask_whom(ask)
        contact.learn(brokers(second, third)[:1])
        contact.learn([BackingBroker(7, first.address.host, first.address.port)])
        assert (met.node_id, (await contact.ask_whom(ask)).node_id) == (1, 7)


async def test_for_an_answer_of_a_bootstrap_server_that_may_be_any_broker_one_more_is_silent() -> None:
    async with three_brokers() as (contact, _):
        assert await opinions(contact, than=None) == [None, "1", "2"]


async def test_brokers_that_are_not_named_any_more_have_a_voice_for_some_minutes_and_longer_while_they_answer() -> (
    None
):
    clock = ManualClock()
    async with one_of_three_brokers(clock) as (contact, [_, second, _third]):
        # When
        at_first = await opinions(contact, than=1)
        clock.advance(FORMER_VOICE_MS - 1)
        await second.stop()
        later = await opinions(contact, than=1)
        clock.advance(1)
        silent_for_long = await opinions(contact, than=1)

        # Then
        assert (at_first, later, silent_for_long) == (["2", "3"], [None, "3"], ["3"])
        await second.start()


async def test_a_broker_has_no_voice_at_an_address_where_another_one_lives_now() -> None:
    async with one_of_three_brokers(ManualClock()) as (contact, [first, second, _third]):
        moved = BackingBroker(4, second.address.host, second.address.port)
        contact.learn([*brokers(first), moved])
        assert await opinions(contact, than=1) == ["2", "3"]
        assert await opinions(contact, than=4) == ["1", "3"]


async def test_the_bootstrap_servers_tell_how_many_brokers_are_still_to_be_met_for_some_minutes() -> None:
    clock = ManualClock()
    async with (
        broker_that(lambda _: cluster_named("1")) as first,
        broker_that(lambda _: cluster_named("2")) as second,
        Backing([first.address]) as backing,
    ):
        contact = ClusterContact([first.address] * 3, backing.connections, clock)
        contact.learn(brokers(first))
        alone = await opinions(contact, than=1)
        contact.learn(brokers(first, second))
        of_two = await opinions(contact, than=1)
        clock.advance(FORMER_VOICE_MS)
        later = await opinions(contact, than=1)

    assert (alone, of_two, later) == ([None, None], [None, "2"], ["2"])


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


@pytest.mark.parametrize(
    ("world", "pass_count", "next_one"),
    [
        pytest.param(three_brokers, 1, "2", id="another one is known"),
        pytest.param(three_brokers, 2, "3", id="another one was passed on from since"),
        pytest.param(partial(one_of_three_brokers, ManualClock()), 1, "2", id="others were known lately"),
    ],
)
async def test_what_a_broker_was_asked_before_it_was_passed_on_from_does_not_bring_it_back(
    world: Callable[[], AbstractAsyncContextManager[tuple[ClusterContact, list[AnsweringBroker]]]],
    pass_count: int,
    next_one: str,
) -> None:
    async with world() as (contact, [first, *_]):
        # Given
        may_answer = asyncio.Event()

        async def ask_late(client: BrokerClient) -> str | None:
            answer = await ask(client)
            await may_answer.wait()
            return answer

        async with asyncio.TaskGroup() as tasks:
            early = tasks.create_task(contact.ask(ask_late, is_repeatable=False))
            count = len(first.asked(ApiKey.METADATA))
            await first.until_asked(ApiKey.METADATA, count + 1)

            # When
            for _ in range(pass_count):
                contact.pass_on()
            may_answer.set()

        # Then
        assert early.result() == "1"
        assert await contact.ask(ask) == next_one


async def test_the_answer_of_a_broker_that_has_left_meanwhile_does_not_end_the_search_for_others() -> None:
    async with one_of_two_bootstrap_servers() as (contact, [first, second]):
        # Given
        left, stays = BackingBroker(3, first.address.host, first.address.port), brokers(first)
        contact.learn([*stays, left])

        async def question(client: BrokerClient) -> str | None:
            contact.learn(stays)
            return await ask(client)

        # When
        await contact.ask(question)

        # Then
        assert await contact.ask(ask) == "2"
        assert len(second.asked(ApiKey.METADATA)) == 1


async def test_what_must_not_be_done_twice_waits_for_nobody_who_is_not_known() -> None:
    async with one_of_three_brokers(ManualClock()) as (contact, [_, *former]):
        contact.pass_on()
        assert await contact.ask(ask, is_repeatable=False) == "1"
        assert [each.asked(ApiKey.METADATA) for each in former] == [[], []]
        assert await contact.ask(ask) == "2"
