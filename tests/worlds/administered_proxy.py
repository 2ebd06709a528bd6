"""`AdministeredProxy`: a whole kproxy in a thread of the test, for clients that block and come over the wire."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import Any, Final

from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.clients.cluster.cluster_client import ClusterClient, connected_cluster
from kproxy.clients.cluster.connection import BrokerAddress
from kproxy.clients.cluster.deadline import Deadline
from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.in_memory.answering_broker import Answer
from tests.in_memory.loop_in_a_thread import LoopInAThread, loop_in_a_thread
from tests.in_memory.scripted_state_log import FIRST_BATCHED_VERSION, ScriptedStateLog
from tests.real_kafka.raw_connection import RawConnection
from tests.worlds.running_proxy import HERE, RunningProxy
from tests.worlds.waiting import until

NODE: Final = 1
ORDERS: Final = TopicId(b"topic-id-orders.")
PAYMENTS: Final = TopicId(b"topic-id-payment")
PLAIN_GROUP: Final = "a-consumer-group"
"""A group of another type, which the backing cluster has."""
PATIENCE_S: Final = 10.0

_GROUP_KEY: Final = 0
_GROUP_RESOURCE: Final = 32


class AdministeredProxy:
    """kproxy in front of a cluster of one broker with the topics `orders` (2 partitions) and `payments` (1).

    The cluster has one group of its own, `PLAIN_GROUP`, and configurations of no group. Groups are made as clients make
    them: by heartbeats.
    """

    def __init__(self, loop: LoopInAThread) -> None:
        self._loop = loop
        self._running = AsyncExitStack()
        self._cluster = ScriptedStateLog((NODE,))
        self.bootstrap_server = ""

    def start(self) -> None:
        """Start it, and return when it serves share groups."""
        self._loop.run(self._start())

    def stop(self) -> None:
        """Stop it, and the cluster."""
        self._loop.run(self._running.aclose())

    def run(self, *arguments: str) -> Result:
        """Run `kproxy groups` with these arguments against it."""
        return CliRunner().invoke(cli, ["groups", *arguments, "-b", self.bootstrap_server])

    @contextmanager
    def client(self, deadline: Deadline | None = None) -> Iterator[ClusterClient]:
        """Give a client of it for the length of the block, with ten seconds unless told otherwise."""
        host, _, port = self.bootstrap_server.rpartition(":")
        deadline = deadline or Deadline(10_000)
        with connected_cluster([BrokerAddress(host, int(port))], deadline) as client:
            yield client

    def append(self, topic_id: TopicId, partition: int, count: int, *, timestamp_ms: int = 0) -> None:
        """Let a partition have so many records more."""
        appended = self._cluster.append(topic_id, partition, [b"v"] * count, timestamp_ms=timestamp_ms)
        self._loop.run(appended)

    def refuse(self, topic_id: TopicId, partition: int, error_code: ErrorCode) -> None:
        """Let the leader of a partition answer ListOffsets with `error_code`, until it is NONE again."""
        self._cluster.refuse(topic_id, partition, error_code)

    def lose_leader(self, topic_id: TopicId, partition: int) -> None:
        """Let a partition have no leader."""
        self._cluster.lead(topic_id, partition, -1)

    def join(self, group_id: str, *topics: str, member_id: str = "alice") -> None:
        """Let a member join, and stay until it is assigned something."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not self.heartbeat(group_id, 0, topics, member_id=member_id).assignment:
            assert time.monotonic() < deadline_s, f"{member_id} is assigned nothing"

    def leave(self, group_id: str, *, member_id: str = "alice") -> None:
        """Let a member leave."""
        self.heartbeat(group_id, -1, None, member_id=member_id)

    def empty_group(self, group_id: str, *topics: str) -> str:
        """Return a group whose only member has left."""
        self.join(group_id, *topics)
        self.leave(group_id)
        return group_id

    def heartbeat(
        self, group_id: str, member_epoch: int, topics: Sequence[str] | None, *, member_id: str
    ) -> ShareGroupHeartbeatResponse:
        """Send a heartbeat, and return its answer."""
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=member_epoch,
            subscribed_topic_names=None if topics is None else list(topics),
        )
        with RawConnection(self.bootstrap_server, client_id="client-1") as connection:
            return connection.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request, ShareGroupHeartbeatResponse)

    async def _start(self) -> None:
        cluster = await self._running.enter_async_context(self._cluster)
        cluster.create_topic("orders", ORDERS, partition_count=2)
        cluster.create_topic("payments", PAYMENTS)
        answer_about_groups(cluster)
        running = await self._running.enter_async_context(
            RunningProxy(cluster, ErrorCode.UNSUPPORTED_VERSION)
        )
        await until(lambda: running.is_started and running.failed_checks == {})
        self.bootstrap_server = f"{HERE}:{running.proxy._listeners.bound_ports[NODE]}"


def answer_about_groups(cluster: ScriptedStateLog) -> None:
    """Let the broker coordinate groups, and have one."""
    broker = cluster.brokers[NODE]
    port = broker.address.port
    broker.version_ranges |= {
        ApiKey.LIST_GROUPS: (0, 4),
        ApiKey.DELETE_GROUPS: (0, 2),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
    }
    broker.answers |= {
        ApiKey.FIND_COORDINATOR: partial(_coordinator, port, broker.answers[ApiKey.FIND_COORDINATOR]),
        ApiKey.LIST_GROUPS: lambda _: ListGroupsResponse(groups=[ListedGroup(PLAIN_GROUP, "consumer")]),
        ApiKey.DESCRIBE_CONFIGS: partial(_configs, broker.answers[ApiKey.DESCRIBE_CONFIGS]),
    }


def _coordinator(port: int, of_transactions: Answer, request: DecodedRequest) -> Any:
    message = request.message
    assert isinstance(message, FindCoordinatorRequest)
    if message.key_type != _GROUP_KEY:
        return of_transactions(request)
    if request.api_version < FIRST_BATCHED_VERSION:
        return FindCoordinatorResponse(node_id=NODE, host=HERE, port=port)
    found = [Coordinator(key, NODE, HERE, port) for key in message.coordinator_keys]
    return FindCoordinatorResponse(coordinators=found)


def _configs(of_topics: Answer, request: DecodedRequest) -> Any:
    """Answer as a broker that does not know configurations of groups."""
    message = request.message
    assert isinstance(message, DescribeConfigsRequest)
    if all(each.resource_type != _GROUP_RESOURCE for each in message.resources):
        return of_topics(request)
    refused = [
        DescribeConfigsResult(ErrorCode.INVALID_REQUEST, None, each.resource_type, each.resource_name)
        for each in message.resources
    ]
    return DescribeConfigsResponse(results=refused)


@contextmanager
def administered_proxy() -> Iterator[AdministeredProxy]:
    """A running `AdministeredProxy`."""
    with loop_in_a_thread() as loop:
        proxy = AdministeredProxy(loop)
        try:
            proxy.start()
            yield proxy
        finally:
            proxy.stop()
