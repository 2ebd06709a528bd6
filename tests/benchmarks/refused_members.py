"""Share members that are refused and ask again at once, as real clients do, on two connections each.

librdkafka 2.16 and Java 4.3 answer a refused ShareFetch with the next one, and a refused heartbeat with FindCoordinator
and, after a pause of their own, the next heartbeat. Here there is no such pause: nothing but kproxy slows them down.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.benchmarks.frame_connection import LENGTH_BYTES, ConnectionEnded, request_frame

MAX_WAIT_MS: Final = 500
"""What both clients ask for by default (`fetch.max.wait.ms`, `fetch.wait.max.ms`)."""
MAX_BYTES: Final = 52_428_800
MAX_RECORDS: Final = 500
INTRODUCTION: Final = ApiVersionsRequest(client_software_name="kproxy-benchmark", client_software_version="1")
VERSIONS: Final = {
    ApiKey.API_VERSIONS: 3,
    ApiKey.METADATA: 12,
    ApiKey.FIND_COORDINATOR: 4,
    ApiKey.SHARE_GROUP_HEARTBEAT: 1,
    ApiKey.SHARE_FETCH: 2,
}

R = TypeVar("R", bound=Message)


class AskingConnection:
    """One connection with one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, address: str) -> "AskingConnection":
        """Connect to `HOST:PORT`."""
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def introduce(self) -> None:
        """Ask what is served, as every client does first; then the connection to the broker is open, too."""
        await self.ask(ApiKey.API_VERSIONS, INTRODUCTION, ApiVersionsResponse)

    def close(self) -> None:
        """Drop it."""
        self._writer.close()

    async def ask(self, api_key: ApiKey, message: Message, expected: type[R]) -> R:
        """Send a request and return its response. Raises `ConnectionEnded`."""
        self._writer.write(request_frame(api_key, VERSIONS[api_key], message))
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            frame = await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise ConnectionEnded("kproxy closed the connection of a member") from error
        _, response = codecs.decode_response(api_key, VERSIONS[api_key], memoryview(frame))
        assert isinstance(response, expected)
        return response


async def be_refused(
    address: str, *, group: str, topic: str, member_count: int, meanwhile: Callable[[], Awaitable[None]]
) -> None:
    """Let `member_count` members of `group` connect to `HOST:PORT`, which leads `topic`, and ask during `meanwhile`."""
    topic_id = await _topic_id(address, topic)
    connections = [await AskingConnection.to(address) for _ in range(2 * member_count)]
    await asyncio.gather(*(connection.introduce() for connection in connections))
    async with asyncio.TaskGroup() as tasks:
        asking = [
            tasks.create_task(
                _keep_in_touch(connection, group, f"member-{number // 2}", topic)
                if number % 2
                else _fetch(connection, group, f"member-{number // 2}", topic_id)
            )
            for number, connection in enumerate(connections)
        ]
        await meanwhile()
        for task in asking:
            task.cancel()
    for connection in connections:
        connection.close()


async def _topic_id(address: str, topic: str) -> bytes:
    connection = await AskingConnection.to(address)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    return (await connection.ask(ApiKey.METADATA, request, MetadataResponse)).topics[0].topic_id


async def _fetch(connection: AskingConnection, group: str, member_id: str, topic_id: bytes) -> None:
    epoch = 0
    while True:
        request = ShareFetchRequest(
            group_id=group,
            member_id=member_id,
            share_session_epoch=epoch,
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            max_records=MAX_RECORDS,
            batch_size=MAX_RECORDS,
            topics=[] if epoch else [FetchTopic(topic_id, [FetchPartition(partition_index=0)])],
        )
        response = await connection.ask(ApiKey.SHARE_FETCH, request, ShareFetchResponse)
        epoch = 0 if response.error_code else epoch + 1


async def _keep_in_touch(connection: AskingConnection, group: str, member_id: str, topic: str) -> None:
    heartbeat = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member_id, subscribed_topic_names=[topic]
    )
    question = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    while True:
        await connection.ask(ApiKey.SHARE_GROUP_HEARTBEAT, heartbeat, ShareGroupHeartbeatResponse)
        await connection.ask(ApiKey.FIND_COORDINATOR, question, FindCoordinatorResponse)
