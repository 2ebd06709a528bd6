"""What is heard of topics while others are asked about an answer is younger than this answer."""

import asyncio

from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.unit.net.cluster.metadata_answers import topic
from tests.worlds.backing import ORDERS, Backing
from tests.worlds.brokers_behind import held_metadata

NAMES = frozenset({"orders"})
NEW_ORDERS = TopicId(b"topic-id-orders2")


async def test_that_a_topic_is_gone_is_not_said_of_the_one_of_its_name_that_was_created_since() -> None:
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        cluster.delete_topic(ORDERS)
        for node_id in (2, 3):
            cluster.fall_behind(node_id)
            await backing.connections.control(node_id)  # they have half a second, which dialling may take
        async with held_metadata(cluster, 2, 3) as may_answer, asyncio.TaskGroup() as tasks:
            look = tasks.create_task(backing.metadata.look(NAMES))
            for node_id in (2, 3):
                await cluster.brokers[node_id].until_asked(ApiKey.METADATA)

            # When
            created = topic("orders", NEW_ORDERS, (1, 0))
            backing.metadata.view.absorb_more([created], now_ms=backing.clock.now_ms(), undecided=())
            may_answer.set()

        # Then
        assert not look.result()
        assert backing.metadata.id_of("orders") == NEW_ORDERS
        assert backing.metadata.view.was_gone(ORDERS)


async def test_that_a_topic_is_gone_is_told_to_who_expects_it_also_where_another_answer_has_said_so_meanwhile() -> (
    None
):
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        cluster.delete_topic(ORDERS)
        for node_id in (2, 3):
            await backing.connections.control(node_id)
        async with held_metadata(cluster, 2, 3) as may_answer, asyncio.TaskGroup() as tasks:
            missing = tasks.create_task(backing.metadata.missing_topics({ORDERS: "orders"}))
            for node_id in (2, 3):
                await cluster.brokers[node_id].until_asked(ApiKey.METADATA)

            # When
            seen = backing.metadata.view
            younger = MetadataResponse(cluster_id=seen.cluster_id)
            seen.absorb(younger, asked_names=["orders"], now_ms=backing.clock.now_ms())
            may_answer.set()

        # Then
        assert missing.result() == [ORDERS]
