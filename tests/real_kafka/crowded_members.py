"""Many share group members and plain clients in one event loop, each on a raw connection: thousands of them."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Final, Self, TypeVar

from kproxy.error_codes import ErrorCode, known_code
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.share_fetch_request import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.real_kafka.raw_share_member import METADATA_VERSION, NOT_YET, SHARE_VERSION, assigned_topics

ROUND_MS: Final = 4_000
"""How long a fetch waits: a heartbeat goes before each, and is due every 5 s."""
MOST_RECORDS: Final = 500
MAX_BYTES: Final = 1 << 20
ACCEPT: Final = 1
LEAVE_EPOCH: Final = -1

Response = TypeVar("Response", bound=Message)


class LeanConnection:
    """One connection; requests may be sent before earlier ones are answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._correlation_ids = itertools.count(1)

    @classmethod
    async def open(cls, address: str) -> Self:
        """Connect to `HOST:PORT`."""
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port), limit=MAX_BYTES))

    def send(self, api_key: int, version: int, message: Message) -> None:
        """Send a request."""
        self._writer.writelines(
            codecs.encode_request(api_key, version, next(self._correlation_ids), "crowd", message)
        )

    async def receive(self, api_key: int, version: int, response_class: type[Response]) -> Response:
        """Return the next response, which answers such a request."""
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        _, response = codecs.decode_response(api_key, version, await self._reader.readexactly(size))
        assert isinstance(response, response_class)
        return response

    def close(self) -> None:
        """Close it."""
        self._writer.transport.abort()


class CrowdLedger:
    """What all of them were told."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()
        self.accepted_count = 0
        self.plain_count = 0
        self.rounds = 0

    def note(self, error_code: int, what: str) -> None:
        """Note an error, if it is one."""
        if error_code != ErrorCode.NONE:
            self.errors[f"{what}: {known_code(error_code).name}"] += 1


class CrowdedMember:
    """A member that heartbeats, fetches, and accepts all that it gets with its next fetch."""

    def __init__(self, group: str, member_id: str, topic: str, ledger: CrowdLedger) -> None:
        self._group, self._member_id, self._topic, self._ledger = group, member_id, topic, ledger
        self._member_epoch = self._session_epoch = 0
        self._topic_id = bytes(16)
        self._assigned: list[int] = []
        self._added: set[int] = set()
        self._acquired: dict[int, list[AcknowledgementBatch]] = {}

    async def join(self, address: str) -> None:
        """Connect, and join the group; again while its coordinator is not there yet."""
        self._connection = await LeanConnection.open(address)
        while True:
            self._send_heartbeat([self._topic])
            answer = await self._receive_heartbeat()
            if answer.error_code not in NOT_YET:
                break
            await asyncio.sleep(0.5)
        self._hear(answer)

    async def work(self, until_s: float) -> None:
        """Heartbeat and fetch in turns until then (the loop's clock). Whatever goes wrong is in the ledger."""
        loop = asyncio.get_running_loop()
        try:
            while loop.time() < until_s:
                await self._round()
        except (EOFError, OSError) as error:
            self._ledger.errors[f"member: {type(error).__name__}"] += 1

    async def leave(self) -> None:
        """Leave the group, and close."""
        self._member_epoch = LEAVE_EPOCH
        self._send_heartbeat(None)
        self._ledger.note((await self._receive_heartbeat()).error_code, "leave")
        self._connection.close()

    async def _round(self) -> None:
        self._send_heartbeat(None)
        self._send_fetch()
        self._hear(await self._receive_heartbeat())
        answer = await self._connection.receive(ApiKey.SHARE_FETCH, SHARE_VERSION, ShareFetchResponse)
        self._ledger.note(answer.error_code, "fetch")
        self._ledger.rounds += 1
        for topic in answer.responses:
            for partition in topic.partitions:
                self._ledger.note(partition.error_code, "fetched partition")
                self._ledger.note(partition.acknowledge_error_code, "acknowledged partition")
                self._acquired[partition.partition_index] = [
                    AcknowledgementBatch(batch.first_offset, batch.last_offset, [ACCEPT])
                    for batch in partition.acquired_records
                ]

    def _send_heartbeat(self, topics: Sequence[str] | None) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=self._member_epoch,
            subscribed_topic_names=None if topics is None else list(topics),
        )
        self._connection.send(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)

    async def _receive_heartbeat(self) -> ShareGroupHeartbeatResponse:
        return await self._connection.receive(ApiKey.SHARE_GROUP_HEARTBEAT, 1, ShareGroupHeartbeatResponse)

    def _hear(self, answer: ShareGroupHeartbeatResponse) -> None:
        self._ledger.note(answer.error_code, "heartbeat")
        self._member_epoch = answer.member_epoch
        for topic in assigned_topics(answer):
            self._topic_id, self._assigned = topic.topic_id, list(topic.partitions)

    def _send_fetch(self) -> None:
        acquired, self._acquired = self._acquired, {}
        self._ledger.accepted_count += sum(
            batch.last_offset - batch.first_offset + 1 for batches in acquired.values() for batch in batches
        )
        named = [number for number in self._assigned if number not in self._added]
        self._added.update(named)
        partitions = [
            FetchPartition(partition_index=number, acknowledgement_batches=acquired.get(number, []))
            for number in dict.fromkeys(
                [*named, *(number for number, batches in acquired.items() if batches)]
            )
        ]
        request = ShareFetchRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=self._session_epoch,
            max_wait_ms=ROUND_MS,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            max_records=MOST_RECORDS,
            batch_size=MOST_RECORDS,
            topics=[FetchTopic(topic_id=self._topic_id, partitions=partitions)] if partitions else [],
        )
        self._session_epoch += 1
        self._connection.send(ApiKey.SHARE_FETCH, SHARE_VERSION, request)


async def ask_now_and_then(
    address: str, topic: str, ledger: CrowdLedger, *, first_s: float, every_s: float, until_s: float
) -> None:
    """Connect after `first_s`, hold a plain connection until then, and ask for the topic's metadata on it."""
    loop = asyncio.get_running_loop()
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    try:
        await asyncio.sleep(first_s)
        connection = await LeanConnection.open(address)
        while loop.time() < until_s:
            connection.send(ApiKey.METADATA, METADATA_VERSION, request)
            answer = await connection.receive(ApiKey.METADATA, METADATA_VERSION, MetadataResponse)
            ledger.note(answer.topics[0].error_code, "metadata")
            ledger.plain_count += 1
            await asyncio.sleep(every_s)
        connection.close()
    except (EOFError, OSError) as error:
        ledger.errors[f"plain: {type(error).__name__}"] += 1
