"""The way out of a whole kproxy: what clients held is released, durably, before the state log is left."""

import asyncio
from itertools import count
from typing import Any

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import SharePartitionKey, TopicId
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.administered_proxy import answer_about_groups
from tests.worlds.running_proxy import HERE, RunningProxy
from tests.worlds.state_logs import GROUPS, STATE, group_of_slot, state_log
from tests.worlds.waiting import until

NODE = 1
ORDERS = TopicId(b"topic-id-orders.")
GROUP = group_of_slot(0)
KEY = SharePartitionKey(GROUP, ORDERS, 0)
GRACE_MS = 3_000
"""The last second of it is for what is released behind what clients are owed."""


class Client:
    """One connection to the port of broker 1, whose requests are sent one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    async def ask(self, api_key: int, version: int, message: Message) -> Any:
        """Send a request and return its response."""
        self.send(api_key, version, message)
        length = int.from_bytes(await self._reader.readexactly(4))
        _, answer = codecs.decode_response(api_key, version, await self._reader.readexactly(length))
        return answer

    def send(self, api_key: int, version: int, message: Message) -> None:
        """Send a request and wait for nothing."""
        self.writer.writelines(codecs.encode_request(api_key, version, 1, "client", message))


def fetch(session_epoch: int) -> ShareFetchRequest:
    """Return a fetch of one record of the share-partition."""
    return ShareFetchRequest(
        group_id=GROUP,
        member_id="alice",
        share_session_epoch=session_epoch,
        max_wait_ms=100,
        min_bytes=1,
        max_records=1,
        batch_size=1,
        topics=[FetchTopic(ORDERS, [FetchPartition(0)])] if session_epoch == 0 else [],
    )


async def member_with_a_record(cluster: ScriptedStateLog, running: RunningProxy) -> Client:
    """Return the connection of a member that acquired a record of a topic and said nothing of it."""
    port = running.proxy._listeners.bound_ports[NODE]
    client = Client(*await asyncio.open_connection(HERE, port))
    async with asyncio.timeout(10):
        await client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
        joining = ShareGroupHeartbeatRequest(GROUP, "alice", 0, None, ["orders"])
        while not (await client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, joining)).assignment:
            pass
        for session_epoch in count():
            answer = await client.ask(ApiKey.SHARE_FETCH, 1, fetch(session_epoch))
            if any(each.acquired_records for topic in answer.responses for each in topic.partitions):
                break
            await cluster.append(ORDERS, 0, [b"v"])
    return client


def durable_state(cluster: ScriptedStateLog) -> DurableShareState | None:
    """Return what the log holds of the share-partition."""
    fold = StateLogFold()
    for record in cluster.records(state_log()):
        fold.apply(record)
    return fold.states.get(KEY)


def topics_written(cluster: ScriptedStateLog) -> list[str]:
    """Return the topics of all Produce requests, in their order."""
    sent = [request.message for request in cluster.asked(ApiKey.PRODUCE)]
    return [
        each.name for message in sent if isinstance(message, ProduceRequest) for each in message.topic_data
    ]


async def test_what_a_client_that_is_cut_off_held_is_released_durably_before_the_end() -> None:
    async def never(_: DecodedRequest) -> None:
        await asyncio.Event().wait()

    async with ScriptedStateLog() as cluster:
        cluster.create_topic("orders", ORDERS)
        answer_about_groups(cluster)
        async with RunningProxy(cluster, ErrorCode.UNSUPPORTED_VERSION, grace_ms=GRACE_MS) as running:
            # Given
            await until(lambda: running.is_started and running.failed_checks == {})
            client = await member_with_a_record(cluster, running)
            cluster.brokers[NODE].answers[ApiKey.LIST_GROUPS] = never
            client.send(ApiKey.LIST_GROUPS, 4, ListGroupsRequest())
            await cluster.brokers[NODE].until_asked(ApiKey.LIST_GROUPS)

            # When
            await running.stop()

        # Then
        state = durable_state(cluster)
        assert state is not None
        assert [batch.delivery_count for batch in state.state_batches] == [1]
        assert topics_written(cluster)[-2:] == [STATE, GROUPS]
        client.writer.close()
