"""`HostileWorld`: a measured kproxy in front of a cluster in memory, and a client that sends it what it likes."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_describe_response import DescribedGroup, ShareGroupDescribeResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.hostile.measured_proxy import HERE
from tests.in_memory.in_memory_fleet_cluster import InMemoryFleetCluster
from tests.in_memory.loop_in_a_thread import LoopInAThread, loop_in_a_thread
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.administered_proxy import answer_about_groups
from tests.worlds.state_logs import STATE, create_state_topics

WIDE: Final = TopicId(b"topic-id-wide...")
PARTITION_COUNT: Final = 5_000
MEMBER: Final = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
PATIENCE_S: Final = 60.0
QUICK_MS: Final = 40.0
"""What takes no longer need not be measured again."""
ANSWER_S: Final = 20.0
"""How long an answer is waited for. The broker here gives none to what only a real one can answer."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a request cost: processor time of the longest turn of the loop, and memory at most."""

    longest_ms: float
    memory_bytes: int
    answered_bytes: int


class HostileWorld:
    """There is a topic of 5,000 partitions, and the share group `workers`."""

    def __init__(
        self, process: "subprocess.Popen[str]", port: int, forget: Callable[[], None] = lambda: None
    ) -> None:
        self._process = process
        self._port = port
        self._forget = forget

    def cost_of(self, frame: bytes, *, tries: int = 3) -> Cost:
        """Send `frame` on connections of its own; return the lowest cost: a busy machine makes only higher ones."""
        self._forget()
        costs = [self._measured(frame, "begin")]
        while len(costs) < tries and costs[0].longest_ms > QUICK_MS:
            costs.append(self._measured(frame, "begin"))
        memory = self._measured(frame, "begin memory")
        self._command("begin")
        return Cost(min(each.longest_ms for each in costs), memory.memory_bytes, memory.answered_bytes)

    def join(self) -> None:
        """Let a member join `workers`, so that what names the group is about a share group."""
        message = ShareGroupHeartbeatRequest("workers", MEMBER, 0, None, ["wide"])
        frame = b"".join(codecs.encode_request(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 7, "client", message))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert time.monotonic() < deadline, "nobody can join"
            answered = self._answer_to(frame)
            if answered and getattr(codecs.decode_response(76, 1, answered)[1], "error_code", -1) == 0:
                return

    def wait_until_ready(self) -> None:
        """Return when it serves share groups."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._command("state")["is_ready"]:
            assert time.monotonic() < deadline, "kproxy is not ready"
            time.sleep(0.1)

    def _measured(self, frame: bytes, begin: str) -> Cost:
        self._command(begin)
        answered_bytes = len(self._answer_to(frame))
        figures = self._command("figures")
        return Cost(figures["longest_ms"], figures["memory_bytes"], answered_bytes)

    def _answer_to(self, frame: bytes) -> bytes:
        """Return the answer, without its length; nothing when the connection was closed instead, or none came."""
        with socket.create_connection((HERE, self._port), timeout=ANSWER_S) as connection:
            connection.sendall(frame)
            try:
                return _exactly(connection, int.from_bytes(_exactly(connection, 4)))
            except (EOFError, ConnectionError, TimeoutError):
                return b""

    def _command(self, command: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        # Other lines are what kproxy says to people when it listens.
        line = next(each for each in self._process.stdout if each.startswith("{"))
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def hostile_world() -> Iterator[HostileWorld]:
    """A running one, whose group there is."""
    with loop_in_a_thread() as loop:
        cluster, running = ScriptedStateLog((1,)), AsyncExitStack()
        loop.run(_begin(cluster, running))
        try:
            # The broker keeps every request, decoded: some thousand of them are gigabytes.
            with _proxy(cluster, cluster.brokers[1].requests.clear) as world:
                world.wait_until_ready()
                world.join()
                yield world
        finally:
            _end(loop, running)


@contextmanager
def _proxy(cluster: ScriptedStateLog, forget: Callable[[], None]) -> Iterator[HostileWorld]:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        port = int(probe.getsockname()[1])
    given = {"broker_ports": [each.address.port for each in cluster.brokers.values()], "port": port}
    command = [sys.executable, "-m", "tests.hostile.measured_proxy", json.dumps(given)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield HostileWorld(process, port, forget)
        finally:
            process.kill()


async def _begin(cluster: ScriptedStateLog, running: AsyncExitStack) -> None:
    await running.enter_async_context(cluster)
    cluster.create_topic("wide", WIDE, partition_count=PARTITION_COUNT)
    create_state_topics(cluster)
    answer_about_groups(cluster)
    broker = cluster.brokers[1]
    broker.version_ranges[ApiKey.SHARE_GROUP_DESCRIBE] = (1, 1)
    broker.answers[ApiKey.SHARE_GROUP_DESCRIBE] = lambda _: ShareGroupDescribeResponse(
        groups=[DescribedGroup(error_code=ErrorCode.UNSUPPORTED_VERSION)]
    )
    await running.enter_async_context(InMemoryFleetCluster(within=cluster, group_id=STATE))


def _end(loop: LoopInAThread, running: AsyncExitStack) -> None:
    loop.run(running.aclose())


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        part = connection.recv(min(1 << 20, count - len(received)))
        if not part:
            raise EOFError
        received += part
    return bytes(received)
