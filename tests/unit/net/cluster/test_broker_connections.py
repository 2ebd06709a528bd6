import asyncio
import logging
from collections.abc import Callable, Coroutine

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.tasks import TaskKeeper
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.backing import LIMITS, CountedThings, ask, broker_that, cluster_named, never, run


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


def run_with_broker(
    scenario: Callable[[Connecting, AnsweringBroker], Coroutine[object, object, None]],
) -> None:
    async def whole() -> None:
        async with broker_that(lambda _: cluster_named("c")) as broker:
            connecting = Connecting()
            connecting.learn(1, broker)
            await scenario(connecting, broker)
            await connecting.close()

    run(whole)


def test_everybody_who_asks_at_once_gets_the_same_connection() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
        # When
        first, second = await asyncio.gather(
            connecting.connections.control(1), connecting.connections.control(1)
        )

        # Then
        assert first is second
        assert broker.accepted_count == 1
        assert connecting.counted.counts == {("connections", "broker"): 1}

    run_with_broker(scenario)


def test_each_purpose_has_connections_of_its_own() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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

    run_with_broker(scenario)


def test_a_read_takes_an_idle_connection_then_a_new_one_then_the_shortest_queue() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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

    run_with_broker(scenario)


async def unanswered(client: BrokerClient) -> None:
    try:
        await ask(client)
    except BrokerUnavailable:
        return


def test_a_lost_connection_is_opened_again() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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

    run_with_broker(scenario)


def test_a_broker_that_cannot_be_reached_is_left_alone_for_a_while() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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

    run_with_broker(scenario)


def test_a_failed_dialling_is_told_to_all_who_waited_each_in_an_exception_of_its_own() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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
        await broker.start()

    run_with_broker(scenario)


def test_that_a_broker_went_and_came_back_is_said_once_each(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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

    with caplog.at_level(logging.INFO):
        run_with_broker(scenario)
    assert [record.msg for record in caplog.records] == ["broker_unreachable", "broker_reached"]


def test_a_connection_that_broke_is_counted_and_said_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
        # Given
        broker.answers[3] = lambda _: b"\x00\x00\x00\x04oops"
        client = await connecting.connections.control(1)

        # When
        with pytest.raises(BrokerFailure):
            await ask(client)

        # Then
        assert connecting.counted.counts[("connection_errors", "broker", "malformed_response")] == 1

    with caplog.at_level(logging.INFO):
        run_with_broker(scenario)
    assert [record.msg for record in caplog.records] == ["broker_connection_failed"]


def test_a_broker_that_moved_is_dialled_at_its_new_address_at_once() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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

    run_with_broker(scenario)


def test_a_broker_that_moved_keeps_its_open_connections() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
        # Given
        before = await connecting.connections.control(1)
        async with broker_that(lambda _: cluster_named("elsewhere")) as elsewhere:
            # When
            connecting.learn(1, elsewhere)

            # Then
            assert await connecting.connections.control(1) is before
            assert broker.accepted_count == 1

    run_with_broker(scenario)


def test_a_node_id_that_nobody_named_is_refused() -> None:
    async def scenario(connecting: Connecting, _: AnsweringBroker) -> None:
        with pytest.raises(BrokerUnavailable, match="no broker with node id 7 is known"):
            await connecting.connections.control(7)
        assert connecting.connections.backoff_ms(7) == 0

    run_with_broker(scenario)


def test_a_caller_that_gives_up_does_not_end_the_dialling_for_the_others() -> None:
    async def scenario(connecting: Connecting, _: AnsweringBroker) -> None:
        # Given
        async with asyncio.TaskGroup() as callers:
            impatient = callers.create_task(connecting.connections.control(1))
            patient = callers.create_task(connecting.connections.control(1))
            await asyncio.sleep(0)

            # When
            impatient.cancel()

        # Then
        assert patient.result().is_open

    run_with_broker(scenario)


def test_who_waits_for_a_connection_when_kproxy_stops_is_told() -> None:
    async def scenario(connecting: Connecting, broker: AnsweringBroker) -> None:
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

    run_with_broker(scenario)
