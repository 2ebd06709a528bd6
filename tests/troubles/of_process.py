"""Troubles of the process itself: it ends, stands still, or is asked by somebody who has no business there."""

import http.client
import struct
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse
from tests.benchmarks.connection_memory import fetch_frame
from tests.real_kafka.kproxy_process import HTTP_TIMEOUT_SECONDS, KproxyProcess
from tests.real_kafka.raw_connection import LENGTH_BYTES, RawConnection
from tests.troubles.kproxy_with_a_defect import MODULE
from tests.troubles.of_fleet import WHILE_SLOTS_MOVE
from tests.troubles.trouble import NOBODY_ANSWERS, Told, Trouble, says

FIND_COORDINATOR_VERSION: Final = 4
"""The first that asks for more than one."""


class Down(Trouble):
    """A process is killed."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy status": says("Error: ", exit_code=NOBODY_ANSWERS),
        "kproxy doctor -b broker1:9092": says("skipped  admin port"),
    }
    beside: ClassVar[frozenset[str]] = WHILE_SLOTS_MOVE

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({}, count=2)

    def strike(self) -> None:
        self.labels = {"instance": self.asked.admin_url.removeprefix("http://")}
        self.asked.kill()


class Fault(Trouble):
    """A kproxy has a defect, and a client meets it."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy version": says("kproxy"),
        "kproxy status -o json": says('"version"', '"commit"'),
    }

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({}, module=MODULE)

    def strike(self) -> None:
        self.labels = {"api": "ShareGroupDescribe", "reason": "internal_error"}
        with RawConnection(self.asked.broker_addresses[1]) as connection:
            request = ShareGroupDescribeRequest(group_ids=["workers"])
            connection.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, request, ShareGroupDescribeResponse)


class EventLoopLate(Trouble):
    """A process gets the processor for half of the time, in large pieces."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy top --sort in-flight --count 1": says("GROUP"),
        "kproxy status": says("ready"),
    }
    beside: ClassVar[frozenset[str]] = frozenset({"KproxySlowsRequestsDown", "KproxyAppendsSlow"})
    STOPS: Final = 4
    STOP_SECONDS: Final = 0.8

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({})

    def strike(self) -> None:
        for _ in range(self.STOPS):
            self.asked.pause()
            time.sleep(self.STOP_SECONDS)
            self.asked.resume()
            time.sleep(self.STOP_SECONDS)


class AdminPortProbed(Trouble):
    """A page makes a name of its own lead to the admin port."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy config show --origin": says("kproxy.admin.listener", "kproxy.admin.allowed.hosts"),
    }

    def strike(self) -> None:
        port = self.asked.admin_url.removeprefix("http://")
        connection = http.client.HTTPConnection(port, timeout=HTTP_TIMEOUT_SECONDS)
        connection.request("GET", "/api/v1/status", headers={"Host": "elsewhere.example"})
        assert connection.getresponse().status == http.client.FORBIDDEN
        connection.close()


class SlowsRequestsDown(Trouble):
    """A client seeks the coordinators of very many groups at once, again and again."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy brokers": says("127.0.0.1"),
        "kproxy status": says("ready"),
    }
    beside: ClassVar[frozenset[str]] = frozenset({"KproxyEventLoopLate"})
    GROUPS: Final = 5_000
    REQUESTS: Final = 100
    """One answer in seven is measured, as chance will have it."""

    def prepare(self) -> Sequence[KproxyProcess]:
        return self.start({})

    def strike(self) -> None:
        self.labels = {"api": "FindCoordinator"}
        keys = [f"nobody-has-this-group-{number}" for number in range(self.GROUPS)]
        request = FindCoordinatorRequest(coordinator_keys=keys)
        with RawConnection(self.asked.broker_addresses[1]) as connection:
            for _ in range(self.REQUESTS):
                connection.send_request(ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request)
                (size,) = struct.unpack(">i", connection.receive_bytes(LENGTH_BYTES))
                connection.receive_bytes(size)


class MemoryBudgetFull(Trouble):
    """Many clients ask for records and read nothing."""

    told: ClassVar[Mapping[str, Told]] = {
        "kproxy brokers": says("127.0.0.1", "{CLIENTS}"),
        "kproxy config show --origin": says(
            "kproxy.max.buffered.bytes", "{BUDGET}", "KPROXY_MAX_BUFFERED_BYTES"
        ),
    }
    BUDGET: Final = 1024 * 1024
    CLIENTS: Final = 60
    FETCHES: Final = 8
    """Of a mebibyte each, for what the kernel takes counts for nobody."""
    RECEIVE_BUFFER_BYTES: Final = 4_096

    def prepare(self) -> Sequence[KproxyProcess]:
        self.names |= {"BUDGET": f"{self.BUDGET}", "CLIENTS": f"{self.CLIENTS}"}
        return self.start({"kproxy.max.buffered.bytes": self.BUDGET})

    def strike(self) -> None:
        topic = self.ground.topic(20, value="x" * 100_000)
        frame = fetch_frame(self.ground.cluster.bootstrap_servers, topic)
        for _ in range(self.CLIENTS):
            address = self.asked.broker_addresses[1]
            slow = RawConnection(address, receive_buffer_bytes=self.RECEIVE_BUFFER_BYTES)
            self.stack.enter_context(slow).send_bytes(frame * self.FETCHES)
