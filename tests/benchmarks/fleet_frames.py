"""One member and one share request at a time, through the process that serves its group or through another one."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from confluent_kafka import Producer

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.benchmarks.comparison import Quantity, percentile
from tests.benchmarks.process_accounting import cpu_seconds
from tests.benchmarks.record_streams import TIMEOUT_SECONDS, RecordsLost
from tests.benchmarks.share_consumption import FROM_THE_BEGINNING, size_name
from tests.benchmarks.workload import Arm
from tests.real_kafka import administration
from tests.real_kafka.kproxy_fleet import KproxyFleet
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.raw_share_member import RawShareMember

LOCAL: Final = "local"
"""The arm whose connection leads to the process that serves the group."""
RELAYED: Final = "relayed"
"""The arm whose connection leads to the other process."""

FRAMES: Final[Mapping[ApiKey, str]] = {
    ApiKey.SHARE_FETCH: "ShareFetch",
    ApiKey.SHARE_ACKNOWLEDGE: "ShareAcknowledge",
    ApiKey.SHARE_GROUP_HEARTBEAT: "ShareGroupHeartbeat",
}
CPU: Final = Quantity("CPU of both processes", "µs a request", 0)
NOT_MEASURED: Final = 50
"""Records at the beginning: connections are opened, and code runs for the first times."""
FETCH_WAIT_MS: Final = 5_000
ACCEPT: Final = 1
MEMBER_ID: Final = "raw-member"

Response = TypeVar("Response", bound=Message)


def median_of(frame: str) -> Quantity:
    """The p50 of a request's latency."""
    return Quantity(f"{frame} p50", "µs", 0)


def late_of(frame: str) -> Quantity:
    """The p99 of a request's latency."""
    return Quantity(f"{frame} p99", "µs", 0)


class TimedConnection(RawConnection):
    """Notes how long each answer took: from before the request is sent to when all of its answer is there.

    Encoding and decoding have no part in it.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.microseconds: defaultdict[int, list[float]] = defaultdict(list)
        """By API key, in the order in which they were asked."""
        self._sent_at = self._received_at = 0.0

    def send_bytes(self, data: bytes) -> None:
        self._sent_at = time.perf_counter()
        super().send_bytes(data)

    def receive_bytes(self, count: int) -> bytes:
        received = super().receive_bytes(count)
        self._received_at = time.perf_counter()
        return received

    def receive_response(self, api_key: int, api_version: int, response_class: type[Response]) -> Response:
        response = super().receive_response(api_key, api_version, response_class)
        self.microseconds[api_key].append((self._received_at - self._sent_at) * 1e6)
        return response


class ShareFrames:
    """Fetch one record, accept it, send a heartbeat, and so on; the first process of the fleet serves the group."""

    def __init__(self, fleet: KproxyFleet, *, record_bytes: int, count: int) -> None:
        self.name = f"one record of {size_name(record_bytes)}"
        self._fleet = fleet
        self._count = count
        self._topic = _topic_of_single_records(fleet, record_bytes, NOT_MEASURED + count)

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        group = self._fleet.new_group_of(self._fleet.kproxies[0])
        administration.set_group_settings(arm.bootstrap_servers, group, FROM_THE_BEGINNING)
        connections: list[TimedConnection] = []

        def connect(address: str) -> TimedConnection:
            connections.append(TimedConnection(address))
            return connections[0]

        member = RawShareMember(
            arm.bootstrap_servers, group=group, topic=self._topic, member_id=MEMBER_ID, connect=connect
        )
        with member:
            epoch = member.join().member_epoch
            heartbeat = ShareGroupHeartbeatRequest(group_id=group, member_id=MEMBER_ID, member_epoch=epoch)
            _consume(member, heartbeat, range(NOT_MEASURED))
            connections[0].microseconds.clear()
            before = self._cpu_seconds()
            _consume(member, heartbeat, range(NOT_MEASURED, NOT_MEASURED + self._count))
            spent = self._cpu_seconds() - before
            member.leave_group()
        return _figures(connections[0].microseconds, self._count, spent)

    def _cpu_seconds(self) -> float:
        return sum(cpu_seconds(kproxy.process_id) for kproxy in self._fleet.kproxies)


def _topic_of_single_records(fleet: KproxyFleet, record_bytes: int, count: int) -> str:
    """A topic with one partition, each record of which is a batch of its own: a fetch of one record gets one."""
    address = fleet.cluster.bootstrap_servers
    topic = administration.create_topic(address, administration.unique_name("bench"))
    producer = Producer({"bootstrap.servers": address, "acks": "all", "batch.num.messages": 1})
    for _ in range(count):
        producer.produce(topic, bytes(record_bytes), partition=0)
        producer.poll(0)
    left = producer.flush(TIMEOUT_SECONDS)
    if left:
        raise RecordsLost(f"{left} of {count} records are not acknowledged after {TIMEOUT_SECONDS:.0f} s")
    return topic


def _consume(member: RawShareMember, heartbeat: ShareGroupHeartbeatRequest, offsets: Sequence[int]) -> None:
    """Accept the records of these offsets, one after the other, with a heartbeat after each."""
    for offset in offsets:
        member.send_fetch(max_wait_ms=FETCH_WAIT_MS, max_records=1)
        acquired = [
            (range_.first_offset, range_.last_offset)
            for partition in member.receive_fetched()
            for range_ in partition.acquired_records
        ]
        if acquired != [(offset, offset)]:
            raise RecordsLost(
                f"a fetch of one record was to acquire offset {offset}, and acquired {acquired}"
            )
        if error := member.acknowledge(offset, offset, ACCEPT):
            raise RecordsLost(f"the acceptance of offset {offset} was answered with {ErrorCode(error).name}")
        if error := member.heartbeat(heartbeat).error_code:
            raise RecordsLost(f"a heartbeat was answered with {ErrorCode(error).name}")


def _figures(microseconds: Mapping[int, list[float]], count: int, spent: float) -> dict[Quantity, float]:
    figures = {CPU: spent / (count * len(FRAMES)) * 1e6}
    for api_key, frame in FRAMES.items():
        figures[median_of(frame)] = percentile(microseconds[api_key], 50)
        figures[late_of(frame)] = percentile(microseconds[api_key], 99)
    return figures
