"""How often the cluster is asked where its brokers are."""

import asyncio

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster import broker_search
from kproxy.net.cluster.broker_search import BrokerSearch
from kproxy.net.cluster.metadata_rounds import MetadataTiming
from kproxy.net.tasks import TaskKeeper
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing


class Cluster:
    """A cluster that answers when it is let; counts questions."""

    def __init__(self) -> None:
        self.asked = 0
        self.failures = 0
        self.failure: BrokerUnavailable | None = None
        self.answers = asyncio.Event()
        self.answers.set()
        self.is_asked_again = asyncio.Event()

    async def ask_for_brokers(self) -> None:
        self.asked += 1
        if self.asked > 1:
            self.is_asked_again.set()
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure

    def fail(self) -> None:
        self.failures += 1


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_whoever_asks_while_a_question_is_out_is_answered_by_the_next_one_a_while_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(broker_search, "LEAST_INTERVAL_SECONDS", 0.05)
    tasks, cluster = TaskKeeper(), Cluster()
    search = BrokerSearch(cluster.ask_for_brokers, cluster.fail, tasks=tasks)
    cluster.answers.clear()
    search.begin()
    await turns()

    # When
    for _ in range(100):
        search.begin()
    cluster.answers.set()
    await turns()
    asked_at_once = cluster.asked
    await cluster.is_asked_again.wait()
    await tasks.close()

    # Then
    assert (asked_at_once, cluster.asked) == (1, 2)


async def test_a_question_that_nobody_answers_is_told() -> None:
    # Given
    tasks, cluster = TaskKeeper(), Cluster()
    cluster.failure = BrokerUnavailable("nobody answers")
    search = BrokerSearch(cluster.ask_for_brokers, cluster.fail, tasks=tasks)

    # When
    search.begin()
    await turns()

    # Then
    assert cluster.failures == 1
    await tasks.close()


async def test_clients_that_cannot_reach_a_broker_make_nobody_read_all_metadata(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broker_search, "LEAST_INTERVAL_SECONDS", 60)
    async with (
        ScriptedCluster() as cluster,
        Backing(cluster.bootstrap_servers, timing=MetadataTiming()) as backing,
    ):
        # Given
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])
        before = len(cluster.asked(ApiKey.METADATA))
        search = BrokerSearch(backing.metadata.ask_for_brokers, lambda: None, tasks=backing.tasks)

        # When
        for _ in range(30):
            search.begin()
            await asyncio.sleep(0.01)

        # Then
        (only,) = cluster.asked(ApiKey.METADATA)[before:]
        assert isinstance(only.message, MetadataRequest)
        assert only.message.topics == []


async def test_a_broker_that_moved_while_nobody_asked_about_leaders_is_found_again() -> None:
    async with (
        ScriptedCluster((1, 2)) as cluster,
        Backing(cluster.bootstrap_servers, timing=MetadataTiming()) as backing,
        AnsweringBroker(version_ranges=cluster.brokers[2].version_ranges) as elsewhere,
    ):
        # Given
        await backing.metadata.refresh()
        search = BrokerSearch(backing.metadata.ask_for_brokers, lambda: None, tasks=backing.tasks)
        backing.connections.on_doubt = search.begin
        before = cluster.brokers[2]
        await before.stop()
        cluster.brokers[2] = elsewhere

        # When
        with pytest.raises(BrokerUnavailable):
            await backing.connections.control(2)

        # Then
        found = asyncio.get_running_loop().create_future()
        backing.metadata.on_brokers.append(found.set_result)
        await found
        assert (await backing.connections.control(2)).peer == str(elsewhere.address)
        await before.start()
