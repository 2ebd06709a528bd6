"""Many whose topic's name is confirmed together, as before brokers that know no topic ids, go on in turns."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kproxy.handlers.ports import LATEST_TIMESTAMP, PartitionRead
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.reading import offset_lookup, partition_reader
from kproxy.net.reading.partition_reader import BrokerPartitionReader
from kproxy.net.waking_turns import MOST_IN_A_TURN
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_offsets_request import ListOffsetsRequest
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, PAYMENTS, Backing
from tests.worlds.brokers_behind import held_metadata
from tests.worlds.waiting import until, until_all_wait

MANY = 100


async def read(backing: Backing) -> None:
    await backing.reader.read([PartitionRead(ORDERS, 0, 0, 100)], max_bytes=100)


async def find_the_end(backing: Backing) -> None:
    await backing.reader.find_offset(ORDERS, 0, LATEST_TIMESTAMP)


@pytest.mark.parametrize(
    ("work", "api_key"), [(read, ApiKey.FETCH), (find_the_end, ApiKey.LIST_OFFSETS)], ids=["reads", "offsets"]
)
async def test_of_very_many_whose_names_are_confirmed_together_only_so_many_ask_the_leader_in_a_turn(
    work: Callable[[Backing], Coroutine[None, None, None]], api_key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    for module in (partition_reader, offset_lookup):
        monkeypatch.setattr(module, "NAME_TRUSTED_FOR_MS", 1)
    turn, asked_in, request = 0, Counter[int](), BrokerClient.request

    async def counted(client: BrokerClient, key: ApiKey, *args: object, **options: object) -> object:
        asked_in[turn] += key is api_key
        return await request(client, key, *args, **options)  # type: ignore[arg-type]

    async with (
        ScriptedCluster((1,), fetch_versions=(4, 12)) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        cluster.create_topic("orders", ORDERS)
        await asyncio.gather(*(work(backing) for _ in range(MANY)))  # all connections are open then
        seen_ms = backing.clock.now_ms()
        await until(lambda: backing.clock.now_ms() > seen_ms + 1)
        monkeypatch.setattr(BrokerClient, "request", counted)
        async with held_metadata(cluster, 1) as may_answer, asyncio.TaskGroup() as tasks:
            working = [tasks.create_task(work(backing)) for _ in range(MANY)]
            await until_all_wait()

            # When
            may_answer.set()
            while not all(each.done() for each in working):
                await asyncio.sleep(0)
                turn += 1

    # Then
    assert asked_in.total() == MANY
    assert max(asked_in.values()) <= MOST_IN_A_TURN


async def test_what_kproxy_looks_up_for_itself_waits_behind_no_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(offset_lookup, "NAME_TRUSTED_FOR_MS", 1)
    asked: list[str] = []
    request = BrokerClient.request

    async def noted(client: BrokerClient, key: ApiKey, *args: Any, **options: Any) -> object:
        if isinstance(args[0], ListOffsetsRequest):
            asked.append(args[0].topics[0].name)
        return await request(client, key, *args, **options)

    async with ScriptedCluster((1,)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.create_topic("state", PAYMENTS)
        own = BrokerPartitionReader(metadata=backing.metadata, connections=backing.connections)
        await asyncio.gather(*(find_the_end(backing) for _ in range(MANY)))  # all connections are open then
        await own.find_offset(PAYMENTS, 0, LATEST_TIMESTAMP)
        seen_ms = backing.clock.now_ms()
        await until(lambda: backing.clock.now_ms() > seen_ms + 1)
        monkeypatch.setattr(BrokerClient, "request", noted)
        async with held_metadata(cluster, 1) as may_answer, asyncio.TaskGroup() as tasks:
            for _ in range(MANY):
                tasks.create_task(find_the_end(backing))
            tasks.create_task(own.find_offset(PAYMENTS, 0, LATEST_TIMESTAMP))
            await until_all_wait()

            # When
            may_answer.set()

    # Then
    assert asked.count("orders") == MANY
    # Of several connections one may be answered a little later.
    assert asked.index("state") <= MANY // 2
