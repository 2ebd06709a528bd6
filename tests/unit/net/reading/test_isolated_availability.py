"""Sleeping under either isolation level: what both share, and what they do not."""

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchRequest
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing, share_partition


def isolation_levels_asked(cluster: ScriptedCluster) -> set[int]:
    """Under which levels brokers were polled."""
    messages = [request.message for request in cluster.asked(ApiKey.FETCH)]
    return {message.isolation_level for message in messages if isinstance(message, FetchRequest)}


async def test_while_nobody_waits_for_committed_records_no_broker_is_polled_for_them() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])

        # When
        wait = backing.wait_for((share_partition(ORDERS, 0), 0))
        await cluster.brokers[1].until_asked(ApiKey.FETCH)
        await cluster.append(ORDERS, 0, [b"a"])
        await wait

        # Then
        assert isolation_levels_asked(cluster) == {IsolationLevel.READ_UNCOMMITTED}


async def test_a_poll_for_committed_records_does_not_hold_up_one_for_all_of_them() -> None:
    """Each has a connection of its own: a broker answers the polls of one connection one after the other."""
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])
        until_ms = backing.clock.now_ms() + 10_000
        key = share_partition(ORDERS, 0)

        async def wait_for_committed() -> None:
            await backing.availability.wait({key: 0}, until_ms, IsolationLevel.READ_COMMITTED)

        committed = backing.tasks.spawn(wait_for_committed(), name="a wait for committed records")
        await cluster.brokers[1].until_asked(ApiKey.FETCH)

        # When
        uncommitted = backing.wait_for((key, 0))
        await cluster.brokers[1].until_asked(ApiKey.FETCH, 2)
        cluster.log(ORDERS, 0).append_in_transaction([b"a"], producer_id=7)
        await cluster.wake_polls()
        await uncommitted

        # Then
        assert not committed.done()
        cluster.log(ORDERS, 0).end_transaction(producer_id=7, is_commit=True)
        await cluster.wake_polls()
        await committed
