"""aiokafka: asyncio, with a protocol layer of its own; its administration knows no ACLs and deletes no groups."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.compatibility.backings import rack_of
from tests.compatibility.clients.probe import (
    ANSWER_TIMEOUT_SECONDS,
    OFFSET_OF_A_TRANSACTION,
    POLL_SECONDS,
    Check,
    Ground,
    Unexpected,
    expect,
    expect_equal,
    expect_values,
    run_probe,
    values,
)
from tests.compatibility.clients.propagation import wait_until_known_everywhere
from tests.compatibility.scenarios import COMPRESSIONS, Scenario

AsyncCheck: TypeAlias = Callable[[Ground], Awaitable[None]]


async def _compression(ground: Ground, *, codec: str) -> None:
    topic = await _new_topic(ground)
    sent = values(codec)
    await _produce(ground, topic, sent, compression_type=None if codec == "none" else codec, linger_ms=5)
    expect_values(await _consume(ground, topic, len(sent)), sent)


async def _classic_group(ground: Ground) -> None:
    """Two members share the partitions; one that comes after them goes on where they committed."""
    topic, group = await _new_topic(ground, partitions=2), ground.name("group")
    async with (
        _group_consumer(ground, group, topic) as first,
        _group_consumer(ground, group, topic) as second,
    ):

        async def are_balanced() -> bool:
            return [len(one.assignment()) for one in (first, second)] == [1, 1]

        await _eventually(are_balanced, "each member has a partition")
        for partition in range(2):
            await _produce(ground, topic, values(f"p{partition}", 10), partition=partition)
        for consumer in (first, second):
            await _poll(consumer, 10)
            await consumer.commit()
    await _produce(ground, topic, values("later", 10))
    async with _group_consumer(ground, group, topic) as third:
        expect_values(await _poll(third, 10), values("later", 10))


async def _idempotence(ground: Ground) -> None:
    topic = await _new_topic(ground)
    sent = values("once")
    offsets = await _produce(ground, topic, sent, enable_idempotence=True)
    expect_equal(offsets, list(range(len(sent))), "offsets")
    expect_values(await _consume(ground, topic, len(sent)), sent)


async def _transactions(ground: Ground) -> None:
    source, target, group = await _new_topic(ground), await _new_topic(ground), ground.name("group")
    kept, dropped = values("kept", 10), values("dropped", 10)
    async with _producer(ground, transactional_id=ground.name("transactional")) as producer:
        await producer.begin_transaction()
        await _send(producer, target, kept)
        await producer.send_offsets_to_transaction({TopicPartition(source, 0): 1}, group)
        await producer.commit_transaction()
        await producer.begin_transaction()
        await _send(producer, target, dropped)
        await producer.abort_transaction()
        await producer.begin_transaction()
        await _send(producer, target, kept)
        await producer.commit_transaction()
    committed = await _consume(ground, target, 20, isolation_level="read_committed")
    expect_values(committed, kept + kept)
    everything = await _consume(ground, target, 30, isolation_level="read_uncommitted")
    expect_values(everything, kept + dropped + kept)
    async with _admin(ground) as admin:

        async def is_committed() -> bool:
            offset = (await admin.list_consumer_group_offsets(group)).get(TopicPartition(source, 0))
            return offset is not None and offset.offset == 1

        await _eventually(is_committed, OFFSET_OF_A_TRANSACTION)


async def _topics(ground: Ground) -> None:
    topic = await _new_topic(ground, partitions=2)
    async with _admin(ground) as admin:
        (described,) = await admin.describe_topics([topic])
        expect_equal(len(described["partitions"]), 2, "partitions")
        expect_equal(len(described["partitions"][0]["replicas"]), ground.broker_count, "replicas")
        await admin.delete_topics([topic])

        async def is_gone() -> bool:
            return topic not in await admin.list_topics()

        await _eventually(is_gone, f"{topic} is deleted")


async def _cluster(ground: Ground) -> None:
    async with _admin(ground) as admin:
        described = await admin.describe_cluster()
    racks = {broker["node_id"]: broker["rack"] for broker in described["brokers"]}
    expect_equal(racks, {node_id: rack_of(node_id) for node_id in ground.node_ids}, "racks by node id")


async def _configs(ground: Ground) -> None:
    topic = await _new_topic(ground)
    async with _admin(ground) as admin:
        await admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "123456"})]
        )

        async def is_changed() -> bool:
            described = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            return _config(described[0], "retention.ms") == "123456"

        await _eventually(is_changed, "retention.ms is changed")
        for node_id in ground.node_ids:
            broker = ConfigResource(ConfigResourceType.BROKER, str(node_id))
            (described,) = await admin.describe_configs([broker])
            expect_equal(_config(described, "broker.rack"), rack_of(node_id), "broker.rack")


async def _groups(ground: Ground) -> None:
    topic, group = await _new_topic(ground), ground.name("group")
    await _produce(ground, topic, values("x", 5))
    async with _admin(ground) as admin:
        async with _group_consumer(ground, group, topic) as consumer:
            await _poll(consumer, 5)
            await consumer.commit()
            listed = await admin.list_consumer_groups()
            expect(group in {one[0] for one in listed}, f"{group} is listed")
            expect(await admin.find_coordinator(group) in ground.node_ids, "the coordinator is a broker")
            (described,) = await admin.describe_consumer_groups([group])
            ((_, name, state, *_),) = described.groups
            expect_equal((name, state), (group, "Stable"), "group")
        offsets = await admin.list_consumer_group_offsets(group)
    expect_equal(offsets[TopicPartition(topic, 0)].offset, 5, "committed offset")


@asynccontextmanager
async def _admin(ground: Ground) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=ground.bootstrap_list)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def _new_topic(ground: Ground, partitions: int = 1) -> str:
    topic = ground.name("aiokafka")
    async with _admin(ground) as admin:
        await admin.create_topics([NewTopic(topic, partitions, ground.broker_count)])
    await asyncio.to_thread(wait_until_known_everywhere, ground.bootstrap_servers, topic, partitions)
    return topic


@asynccontextmanager
async def _producer(ground: Ground, **settings: Any) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(bootstrap_servers=ground.bootstrap_list, acks="all", **settings)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def _produce(
    ground: Ground, topic: str, payloads: Sequence[bytes], *, partition: int = 0, **settings: Any
) -> list[int]:
    async with _producer(ground, **settings) as producer:
        return await _send(producer, topic, payloads, partition=partition)


async def _send(
    producer: AIOKafkaProducer, topic: str, payloads: Sequence[bytes], *, partition: int = 0
) -> list[int]:
    futures = [await producer.send(topic, payload, partition=partition) for payload in payloads]
    return [(await future).offset for future in futures]


async def _consume(ground: Ground, topic: str, count: int, **settings: Any) -> list[bytes]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=ground.bootstrap_list, auto_offset_reset="earliest", **settings
    )
    consumer.assign([TopicPartition(topic, 0)])
    await consumer.start()
    try:
        return await _poll(consumer, count)
    finally:
        await consumer.stop()


@asynccontextmanager
async def _group_consumer(ground: Ground, group: str, topic: str) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=ground.bootstrap_list,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def _poll(consumer: AIOKafkaConsumer, count: int) -> list[bytes]:
    polled: list[bytes] = []
    async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
        while len(polled) < count:
            for records in (await consumer.getmany(timeout_ms=100)).values():
                polled.extend(record.value for record in records)
    return polled


async def _eventually(is_so: Callable[[], Awaitable[bool]], what: str) -> None:
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
            while not await is_so():  # noqa: ASYNC110 - a cluster tells nobody when it is
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise Unexpected(what) from None


def _config(response: Any, name: str) -> str | None:
    ((_, _, _, _, entries),) = response.resources
    found: dict[str, str | None] = {entry[0]: entry[1] for entry in entries}
    return found.get(name)


def _run(check: AsyncCheck) -> Check:
    def run(ground: Ground) -> None:
        asyncio.run(_awaited(check, ground))

    return run


async def _awaited(check: AsyncCheck, ground: Ground) -> None:
    await check(ground)


CHECKS: Final[dict[Scenario, Check]] = {
    **{codec: _run(functools.partial(_compression, codec=codec.value)) for codec in COMPRESSIONS},
    Scenario.CLASSIC_GROUP: _run(_classic_group),
    Scenario.IDEMPOTENCE: _run(_idempotence),
    Scenario.TRANSACTIONS: _run(_transactions),
    Scenario.TOPICS: _run(_topics),
    Scenario.CLUSTER: _run(_cluster),
    Scenario.CONFIGS: _run(_configs),
    Scenario.GROUPS: _run(_groups),
}

if __name__ == "__main__":
    run_probe(CHECKS)
