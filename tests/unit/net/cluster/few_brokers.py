"""`ClusterContact`s with two or three brokers, which answer with their node ids as the names of clusters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kproxy.interception.broker_addresses import BackingBroker
from kproxy.net.cluster.contact import ClusterContact
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.backing import Backing, ask, broker_that, cluster_named


def brokers(*running: AnsweringBroker) -> list[BackingBroker]:
    """Return them as they are known, with the node ids 1, 2 and so on."""
    return [
        BackingBroker(node_id, broker.address.host, broker.address.port)
        for node_id, broker in enumerate(running, start=1)
    ]


@asynccontextmanager
async def three_brokers() -> AsyncIterator[tuple[ClusterContact, list[AnsweringBroker]]]:
    """The first one answered last."""
    async with (
        broker_that(lambda _: cluster_named("1")) as first,
        broker_that(lambda _: cluster_named("2")) as second,
        broker_that(lambda _: cluster_named("3")) as third,
        Backing([first.address]) as backing,
    ):
        contact = ClusterContact([first.address], backing.connections, backing.clock)
        contact.learn(brokers(first, second, third))
        await contact.ask(ask)
        yield contact, [first, second, third]


@asynccontextmanager
async def one_of_three_brokers(
    clock: ManualClock,
) -> AsyncIterator[tuple[ClusterContact, list[AnsweringBroker]]]:
    """The first one is left: the two others are not named any more."""
    async with (
        broker_that(lambda _: cluster_named("1")) as first,
        broker_that(lambda _: cluster_named("2")) as second,
        broker_that(lambda _: cluster_named("3")) as third,
        Backing([first.address]) as backing,
    ):
        contact = ClusterContact([first.address], backing.connections, clock)
        contact.learn(brokers(first, second, third))
        contact.learn(brokers(first))
        yield contact, [first, second, third]


@asynccontextmanager
async def one_of_two_bootstrap_servers() -> AsyncIterator[tuple[ClusterContact, list[AnsweringBroker]]]:
    """The first one is known alone, and was passed on from."""
    async with (
        broker_that(lambda _: cluster_named("1")) as first,
        broker_that(lambda _: cluster_named("2")) as second,
        Backing([first.address, second.address]) as backing,
    ):
        contact = ClusterContact([first.address, second.address], backing.connections, backing.clock)
        contact.learn(brokers(first))
        contact.pass_on()
        yield contact, [first, second]
