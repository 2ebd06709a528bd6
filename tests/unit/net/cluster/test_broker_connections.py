import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.cluster import broker_connections
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.broker_connections import BrokerConnections, BrokerContact
from kproxy.net.tasks import TaskKeeper
from kproxy.wire.codecs import DecodedRequest
from tests.event_loops import async_fixture
from tests.in_memory.answering_broker import AnsweringBroker, Reply
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.backing import LIMITS, CountedThings, ask, broker_that, cluster_named, never


class Connecting:
    def __init__(self, read_connection_count: int = 2) -> None:
        self.clock = ManualClock()
        self.tasks = TaskKeeper()
        self.counted = CountedThings()
        self.connections = BrokerConnections(
            limits=LIMITS,
            clock=self.clock,
            tasks=self.tasks,
            counting=self.counted,
            read_connection_count=read_connection_count,
        )

    def learn(self, node_id: int, broker: AnsweringBroker) -> None:
        self.connections.learn([BackingBroker(node_id, broker.address.host, broker.address.port)])

    async def close(self) -> None:
        await self.tasks.close()
        self.connections.close()


@async_fixture
async def broker() -> AsyncIterator[AnsweringBroker]:
    async with broker_that(lambda _: cluster_named("c")) as broker:
        yield broker


@async_fixture
async def connecting(broker: AnsweringBroker) -> AsyncIterator[Connecting]:
    connecting = Connecting()
    connecting.learn(1, broker)
    yield connecting
    await connecting.close()


async def test_everybody_who_asks_at_once_gets_the_same_connection(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # When
    first, second = await asyncio.gather(connecting.connections.control(1), connecting.connections.control(1))

    # Then
    assert first is second
    assert broker.accepted_count == 1
    assert connecting.counted.counts == {("connections", "broker"): 1}


async def test_each_purpose_has_connections_of_its_own(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # When
    clients = [
        await connecting.connections.control(1),
        await connecting.connections.tail(1),
        await connecting.connections.reader(1),
        await connecting.connections.survey().reader(1),
    ]

    # Then
    assert len(set(clients)) == 4
    assert broker.accepted_count == 4


async def test_a_read_takes_an_idle_connection_then_a_new_one_then_the_shortest_queue(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    broker.answers[3] = never
    chosen: list[BrokerClient] = []

    # When
    for _ in range(4):
        chosen.append(await connecting.connections.reader(1))
        connecting.tasks.spawn(unanswered(chosen[-1]), name="a read that takes long")
        await asyncio.sleep(0)

    # Then
    assert chosen[0] is not chosen[1]
    assert {chosen[2], chosen[3]} == {chosen[0], chosen[1]}
    assert broker.accepted_count == 2


async def unanswered(client: BrokerClient) -> None:
    try:
        await ask(client)
    except BrokerUnavailable:
        return


async def test_a_lost_connection_is_opened_again(connecting: Connecting, broker: AnsweringBroker) -> None:
    # Given
    lost = await connecting.connections.control(1)
    ended = asyncio.get_running_loop().create_future()
    lost.on_end = ended.set_result
    broker.drop_connections()
    await ended

    # When
    found = await connecting.connections.control(1)

    # Then
    assert found is not lost
    assert await ask(found) == "c"


async def test_a_broker_that_cannot_be_reached_is_left_alone_for_a_while(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    await broker.stop()
    with pytest.raises(BrokerFailure, match="connection refused"):
        await connecting.connections.control(1)
    await broker.start()

    # When
    with pytest.raises(BrokerFailure) as refusal:
        await connecting.connections.reader(1)

    # Then
    pause_ms = connecting.connections.backoff_ms(1)
    assert 40 <= pause_ms <= 60
    assert str(refusal.value) == (
        f"{broker.address} cannot be reached (127.0.0.1: connection refused); "
        f"broker 1 is tried again in {pause_ms} ms"
    )
    connecting.clock.advance(60)
    assert (await connecting.connections.reader(1)).is_open
    assert connecting.connections.backoff_ms(1) == 0


async def test_of_each_broker_it_is_told_how_many_connections_there_are_and_what_failed_last(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    before = connecting.connections.contact(1)
    await broker.stop()
    with pytest.raises(BrokerFailure):
        await connecting.connections.control(1)
    connecting.clock.advance(10_000)
    await broker.start()
    await connecting.connections.control(1)
    await connecting.connections.reader(1)

    # When
    contact = connecting.connections.contact(1)

    # Then
    refused = f"{broker.address} cannot be reached (127.0.0.1: connection refused)"
    assert before == BrokerContact(0, "", None)
    assert contact == BrokerContact(2, refused, 10_000)
    assert connecting.connections.contact(9) == BrokerContact()


async def test_a_failed_dialling_is_told_to_all_who_waited_each_in_an_exception_of_its_own(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    await broker.stop()

    # When
    outcomes = await asyncio.gather(
        *(connecting.connections.control(1) for _ in range(3)), return_exceptions=True
    )

    # Then
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, BrokerFailure)] == [
        "unreachable"
    ] * 3
    assert len({id(outcome) for outcome in outcomes}) == 3
    # The one that is kept would refer to what any of them was handling, and that to those before it.
    assert [outcome.__context__ for outcome in outcomes if isinstance(outcome, BrokerFailure)] == [None] * 3
    await broker.start()


async def test_that_a_broker_went_and_came_back_is_said_once_each(
    caplog: pytest.LogCaptureFixture, connecting: Connecting, broker: AnsweringBroker
) -> None:
    with caplog.at_level(logging.INFO):
        # Given
        await broker.stop()

        # When
        for _ in range(3):
            with pytest.raises(BrokerFailure):
                await connecting.connections.control(1)
            connecting.clock.advance(10_000)
        await broker.start()
        await connecting.connections.control(1)

        # Then
        assert connecting.counted.counts[("connection_errors", "broker", "unreachable")] == 3
    assert [record.msg for record in caplog.records] == ["broker_unreachable", "broker_reached"]


async def test_a_connection_that_broke_is_counted_and_said_with_the_reason(
    caplog: pytest.LogCaptureFixture, connecting: Connecting, broker: AnsweringBroker
) -> None:
    with caplog.at_level(logging.INFO):
        # Given
        broker.answers[3] = lambda _: b"\x00\x00\x00\x04oops"
        client = await connecting.connections.control(1)

        # When
        with pytest.raises(BrokerFailure):
            await ask(client)

        # Then
        assert connecting.counted.counts[("connection_errors", "broker", "malformed_response")] == 1
    assert [record.msg for record in caplog.records] == ["broker_connection_failed"]


async def test_a_broker_that_moved_is_dialled_at_its_new_address_at_once(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    await broker.stop()
    with pytest.raises(BrokerFailure):
        await connecting.connections.control(1)
    async with broker_that(lambda _: cluster_named("elsewhere")) as elsewhere:
        # When
        connecting.learn(1, elsewhere)

        # Then
        assert await ask(await connecting.connections.control(1)) == "elsewhere"
        connecting.connections.close()


async def test_connections_to_where_a_broker_was_are_left_when_it_has_moved(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    """Another broker may be there by now, which answers, and knows nothing of what is asked."""
    # Given
    before = [await connecting.connections.control(1), await connecting.connections.appender(1)]
    async with broker_that(lambda _: cluster_named("elsewhere")) as elsewhere:
        # When
        connecting.learn(1, elsewhere)

        # Then
        assert [client.is_open for client in before] == [False, False]
        assert await ask(await connecting.connections.control(1)) == "elsewhere"
        await broker.until_connected(0)
        assert ("connection_errors", "broker", "closed_by_kproxy") not in connecting.counted.counts
        connecting.connections.close()


async def test_what_is_owed_by_the_place_where_a_broker_was_may_still_come(
    connecting: Connecting, broker: AnsweringBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(broker_connections, "MOVED_PATIENCE_MS", 60_000)
    may_answer = asyncio.Event()

    async def answer_late(_: DecodedRequest) -> Reply:
        await may_answer.wait()
        return cluster_named("before")

    broker.answers[3] = answer_late
    before = await connecting.connections.control(1)
    async with asyncio.TaskGroup() as asking:
        asked = asking.create_task(ask(before))
        await broker.until_asked(3)
        async with broker_that(lambda _: cluster_named("elsewhere")) as elsewhere:
            # When
            connecting.learn(1, elsewhere)

            # Then
            assert await ask(await connecting.connections.control(1)) == "elsewhere"
            may_answer.set()
            assert await asked == "before"
            connecting.connections.close()


async def test_a_place_where_a_broker_was_that_says_nothing_is_left_after_a_while(
    connecting: Connecting, broker: AnsweringBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(broker_connections, "MOVED_PATIENCE_MS", 20)
    broker.answers[3] = never
    before = await connecting.connections.control(1)
    async with asyncio.TaskGroup() as asking:
        asked = asking.create_task(unanswered(before))
        await broker.until_asked(3)
        async with broker_that(lambda _: cluster_named("elsewhere")) as elsewhere:
            # When
            connecting.learn(1, elsewhere)

            # Then
            await asked
            assert not before.is_open
            connecting.connections.close()


async def test_who_waits_for_a_dial_to_where_a_broker_was_is_told_at_once(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    broker.answers[18] = never
    async with broker_that(lambda _: cluster_named("elsewhere")) as elsewhere:

        async def move() -> None:
            await broker.until_asked(18)

            # When
            connecting.learn(1, elsewhere)

        outcome, _ = await asyncio.gather(connecting.connections.control(1), move(), return_exceptions=True)

        # Then
        assert str(outcome) == f"broker 1 has moved from {broker.address} to {elsewhere.address}"
        assert await ask(await connecting.connections.control(1)) == "elsewhere"
        connecting.connections.close()


async def test_that_a_broker_may_have_moved_is_told_when_it_is_not_reached_or_has_to_be_dialled_again(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    doubts: list[str] = []
    client = await connecting.connections.control(1)
    connecting.connections.on_doubt = lambda: doubts.append("doubt")
    await connecting.connections.reader(1)
    broker.drop_connections()
    while client.is_open:  # noqa: ASYNC110 - the scenario is bounded
        await asyncio.sleep(0)

    # When
    await connecting.connections.control(1)
    dialled_again = len(doubts)
    await broker.stop()
    with pytest.raises(BrokerFailure):
        await connecting.connections.tail(1)

    # Then
    assert (dialled_again, len(doubts)) == (1, 2)
    await broker.start()


async def test_a_node_id_that_nobody_named_is_refused(connecting: Connecting) -> None:
    with pytest.raises(BrokerUnavailable, match="no broker with node id 7 is known"):
        await connecting.connections.control(7)
    assert connecting.connections.backoff_ms(7) == 0


async def test_a_caller_that_gives_up_does_not_end_the_dialling_for_the_others(
    connecting: Connecting,
) -> None:
    # Given
    async with asyncio.TaskGroup() as callers:
        impatient = callers.create_task(connecting.connections.control(1))
        patient = callers.create_task(connecting.connections.control(1))
        await asyncio.sleep(0)

        # When
        impatient.cancel()

    # Then
    assert patient.result().is_open


async def test_who_waits_for_a_connection_when_kproxy_stops_is_told(
    connecting: Connecting, broker: AnsweringBroker
) -> None:
    # Given
    broker.answers[18] = never

    async def stop() -> None:
        await broker.until_asked(18)
        await connecting.tasks.close()

    # When
    outcome, _ = await asyncio.gather(connecting.connections.control(1), stop(), return_exceptions=True)

    # Then
    assert str(outcome) == "kproxy is stopping"
    with pytest.raises(BrokerFailure, match="kproxy is stopping"):
        await connecting.connections.control(1)
