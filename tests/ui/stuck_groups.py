"""`StuckGroups`: an admin port whose groups have everything that the web view draws, and which can be started again."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from kproxy.admin.readiness import Readiness
from kproxy.admin.server import AdminServer
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.settings import HostPort
from kproxy.share.identifiers import GroupId, MemberId, TopicIdPartition
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.slot_status import SlotState
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.inspectable import NOON_MS, ORDERS, Inspectable, serving
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_partition_reader import InMemoryLog

ALICE: Final = "Vt3kTgkWQ9u0zYd5x1JmAg"
BOB: Final = "UD9OBuaSSJ6CmckV5pmi2g"
GONE: Final = "m3tX5bNhTYKq2o0Ff8cRzA"
STATUS: Final[dict[str, object]] = {
    "version": "0.1.0",
    "state": "ready",
    "clusterId": "MkU3OEVBNTcwNTJENDM2Qk",
    "bootstrap": "127.0.0.1:19092",
    "brokers": [
        {"nodeId": 1, "advertised": "127.0.0.1:19093", "upstream": "broker1:9092"},
        {"nodeId": 2, "advertised": "127.0.0.1:19094", "upstream": "broker2:9092"},
    ],
    "shareGroups": {"enabled": True, "state": "on", "reason": ""},
    "connectionsOpen": 14,
    "uptimeSeconds": 8123.4,
    "memory": {"heldBytes": 3 << 20, "maxBufferedBytes": 256 << 20, "source": "a quarter of the memory"},
    "problems": [],
    "fleet": {
        "group": "__kproxy_share_state",
        "name": "kproxy 0.1.0 process 11163 on host-1",
        "state": "settled",
        "problem": "",
        "mapEpoch": 1_795_404_062_871,
        "leaseMs": 5_400,
        "slots": {"count": 16, "owned": 9, "ready": 9, "loading": 0, "wanted": 0, "unassigned": 0},
        "moves": {"taken": 16, "givenUp": 7, "lost": 0},
        "members": [
            {
                "name": f"kproxy 0.1.0 process {process} on host-{host}",
                "address": f"10.0.0.{host}:19099",
                "slotsOwned": slots,
                "thisProcess": host == 1,
                "leaving": False,
                "problem": "",
            }
            for host, process, slots in ((1, 11163, 9), (2, 482, 7))
        ],
    },
}


@dataclass
class StuckGroups:
    """The groups, and the port at which they are shown while `served`."""

    inspectable: Inspectable
    port: int

    @property
    def url(self) -> str:
        """Where the web view is."""
        return f"http://127.0.0.1:{self.port}/ui/"

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve them, at the same port each time."""
        server = AdminServer(
            HostPort("127.0.0.1", self.port),
            metrics=Metrics(),
            readiness=Readiness({}),
            status=lambda: STATUS,
            inspection=self.inspectable.inspection(),
            now_ms=lambda: NOON_MS,
        )
        with serving(server):
            yield

    def count(self, delivered: int, redelivered: int, acknowledged: int) -> None:
        """Let so many records of the group `orders-workers` have been delivered, again, and acknowledged."""
        found = self.inspectable.counts[GroupId("orders-workers")]
        found.delivered_count += delivered
        found.redelivered_count += redelivered
        found.acknowledged_count += acknowledged


def stuck_groups(*, others: int = 12) -> StuckGroups:
    """One group that is stuck at a record, and `others` that lag a little."""
    inspectable = Inspectable()
    inspectable.clock = ManualClock(31_000)
    for node_id in (1, 2):
        inspectable.know_broker(node_id, advertised=f"127.0.0.1:{19092 + node_id}")
    inspectable.join(ALICE, group_id="orders-workers", client_id="billing-1")
    inspectable.join(BOB, group_id="orders-workers", client_id="billing-2")
    _fill(inspectable)
    inspectable.open_session(ALICE, (ORDERS, 0), group_id="orders-workers")
    inspectable.open_session(BOB, (ORDERS, 1), group_id="orders-workers", node_id=2)
    for number in range(others):
        group_id = f"team-{number % 7}-queue-{number:04}"
        inspectable.join(f"member-{number}", group_id=group_id, client_id=f"worker-{number}")
        for partition in (0, 1):
            start = 4_990 + number % 10
            inspectable.share_partition(group_id=group_id, partition=partition, start_offset=start)
        inspectable.counts[GroupId(group_id)] = GroupCounts(100 * number, number, 99 * number)
    for partition in (0, 1):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 4_980, timestamp_ms=NOON_MS - 7_500_000)
        for last in range(20, 0, -1):
            log.append([b"a"], timestamp_ms=NOON_MS - 700 * last**3)
    for slot in range(16):
        inspectable.state_log.add(slot, SlotState.READY)
    inspectable.counts[GroupId("orders-workers")] = GroupCounts(9_000, 120, 8_400)
    return StuckGroups(inspectable, _free_port())


def _fill(inspectable: Inspectable) -> None:
    """Fill the windows of orders-workers: what is acquired at 0 ms is late at 31,000, what is at 20,000 is not."""
    first = inspectable.share_partition(
        StateBatch(100, 100, RecordState.AVAILABLE, 3),
        StateBatch(101, 140, RecordState.ACKNOWLEDGED, 1),
        StateBatch(141, 141, RecordState.ARCHIVED, 5),
        StateBatch(142, 300, RecordState.ACKNOWLEDGED, 1),
        StateBatch(301, 330, RecordState.AVAILABLE, 3),
        StateBatch(331, 700, RecordState.ACKNOWLEDGED, 2),
        StateBatch(701, 760, RecordState.AVAILABLE, 1),
        group_id="orders-workers",
    )
    _acquire(first, ALICE, 100, 100, now_ms=20_000)
    _acquire(first, GONE, 301, 310, now_ms=0)
    second = inspectable.share_partition(group_id="orders-workers", partition=1, start_offset=4_100)
    _acquire(second, BOB, 4_100, 4_139, now_ms=25_000)


def _acquire(share_partition: SharePartition, member_id: str, first: int, last: int, *, now_ms: int) -> None:
    share_partition.acquire(
        MemberId(member_id),
        [(first, last)],
        fetch_offset=first,
        max_records=last - first + 1,
        batch_size=500,
        is_record_limit=False,
        now_ms=now_ms,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
