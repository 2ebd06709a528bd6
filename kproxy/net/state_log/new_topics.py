"""Topics that were created a moment ago: brokers name the leaders of their partitions before these lead them."""

import asyncio
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import PartitionRead, PartitionReader
from kproxy.net.state_log.state_topics import SlotTopics
from kproxy.telemetry import logs

log = logs.logger("net.state_log.new_topics")

MOST_LOOKS: Final = 100
PAUSE_SECONDS: Final = 0.05


async def await_leaders(reader: PartitionReader, topics: SlotTopics) -> None:
    """Return when every partition of both topics can be read, or after five seconds: claims will say what is wrong.

    Each claim that comes too early costs a producer epoch, and a pause that grows.
    """
    reads = [
        PartitionRead(topic.topic_id, partition, offset=0, max_bytes=1)
        for topic in (topics.state, topics.groups)
        for partition in range(topic.partition_count)
    ]
    for _ in range(MOST_LOOKS):
        results = await reader.read(reads, max_bytes=1)
        if all(data.error_code is ErrorCode.NONE for data in results):
            return
        await asyncio.sleep(PAUSE_SECONDS)
    log.info("new_topics_without_leaders", state_topic=topics.state.name, groups_topic=topics.groups.name)
