"""KIP-932's worked example, played to a real broker with share groups: what its share coordinator writes at each step.

`python -m tests.real_kafka.worked_example` writes the golden file anew; `test_state_records.py` plays it again and
compares.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kproxy.error_codes import ErrorCode
from kproxy.share.record_state import AcknowledgeType
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse
from tests.real_kafka import administration
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.versions import REFERENCE

GOLDEN_FILE: Final = (
    Path(__file__).resolve().parents[1] / "unit" / "statelog" / "data" / "kip_worked_example.json"
)
STATE_TOPIC: Final = "__share_group_state"
GROUP: Final = "G1"
LOCK_MS: Final = 5_000
CLUSTER_SETTINGS: Final[Mapping[str, str | int]] = {
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.record.lock.duration.ms": LOCK_MS,
    "share.coordinator.state.topic.num.partitions": 1,
}
PATIENCE_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record of the state topic: offset, timestamp, and key and value in hexadecimal digits (None: a tombstone)."""

    offset: int
    timestamp_ms: int
    key: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """One step of the example and the records that it made the share coordinator write."""

    step: str
    records: list[WrittenRecord]


def play(cluster: KafkaCluster) -> list[PlayedStep]:
    """Play the example on a cluster made with `CLUSTER_SETTINGS`, and return its steps in order."""
    bootstrap_servers = cluster.bootstrap_servers
    topic = administration.create_topic(bootstrap_servers, administration.unique_name("example"))
    administration.produce(bootstrap_servers, topic, [str(offset) for offset in range(100)])
    with ExitStack() as stack:
        log = stack.enter_context(_StateLog(bootstrap_servers))
        address = cluster.broker_address(1)
        _wait_for_coordinator(address)
        members = [
            stack.enter_context(
                RawShareMember(address, group=GROUP, topic=topic, member_id=f"consumer-{number}")
            )
            for number in (1, 2, 3)
        ]
        return _Example(bootstrap_servers, topic, members, log).play()


def _wait_for_coordinator(address: str) -> None:
    """Let the broker create its topic for groups; return when it knows that there is no such group yet."""
    find = FindCoordinatorRequest(coordinator_keys=[GROUP])
    describe = ShareGroupDescribeRequest(group_ids=[GROUP])
    deadline = time.monotonic() + PATIENCE_SECONDS
    with RawConnection(address) as connection:
        while True:
            connection.ask(ApiKey.FIND_COORDINATOR, 4, find, FindCoordinatorResponse)
            answer = connection.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, describe, ShareGroupDescribeResponse)
            if answer.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                return
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)


class _Example:
    """The example with three members: consumer 1 gets 110-112, consumer 2 gets 113-118, consumer 3 gets 119."""

    def __init__(
        self, bootstrap_servers: str, topic: str, members: Sequence[RawShareMember], log: "_StateLog"
    ) -> None:
        self._bootstrap_servers, self._topic = bootstrap_servers, topic
        self._first, self._second, self._third = members
        self._log = log
        self._steps: list[PlayedStep] = []

    def play(self) -> list[PlayedStep]:
        accept, release = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE
        self._step("Start at the latest offset 100", self._begin)
        self._step("Fetch records 100-109", lambda: self._deliver(self._first, 100, 109))
        self._step("Acknowledge 100-109", lambda: _acknowledge(self._first, 100, 109, accept))
        self._step("Fetch records 110-119", self._deliver_to_all)
        self._step("Release 110", lambda: _acknowledge(self._first, 110, 110, release))
        self._step("Acknowledge 119", lambda: _acknowledge(self._third, 119, 119, accept))
        self._step("Fetch records 110, 120", self._deliver_again)
        self._step("Lock timeout elapsed 111, 112", self._log.wait_for_more)
        self._step("Acknowledge 113-118", lambda: _acknowledge(self._second, 113, 118, accept))
        self._step("Fetch records 111, 112", lambda: _receive(self._third, [(111, 112)]))
        self._step("Acknowledge 110", lambda: _acknowledge(self._first, 110, 110, accept))
        self._step("Acknowledge 111, 112", lambda: _acknowledge(self._third, 111, 112, accept))
        return self._steps

    def _step(self, name: str, action: Callable[[], object]) -> None:
        action()
        self._steps.append(PlayedStep(name, self._log.new_records()))

    def _begin(self) -> None:
        for member in (self._first, self._second, self._third):
            member.join()
        self._log.wait_for_more()
        self._receive_nothing()

    def _receive_nothing(self) -> None:
        """Open every share session; the first one also chooses the start offset."""
        for member in (self._first, self._second, self._third):
            [partition] = member.fetch(max_wait_ms=500)
            assert partition.error_code == 0, partition
            assert not partition.acquired_records, partition

    def _deliver(self, member: RawShareMember, first_offset: int, last_offset: int) -> None:
        values = [str(offset) for offset in range(first_offset, last_offset + 1)]
        administration.produce(self._bootstrap_servers, self._topic, values)
        _receive(member, [(first_offset, last_offset)])

    def _deliver_to_all(self) -> None:
        """Deliver 110 to 119, and what consumer 1 gets so much earlier that only its locks end in time."""
        self._deliver(self._first, 110, 112)
        time.sleep(LOCK_MS / 2_000)
        self._deliver(self._second, 113, 118)
        self._deliver(self._third, 119, 119)

    def _deliver_again(self) -> None:
        administration.produce(self._bootstrap_servers, self._topic, ["120"])
        _receive(self._first, [(110, 110), (120, 120)])


def _receive(member: RawShareMember, ranges: Sequence[tuple[int, int]]) -> None:
    """Fetch until exactly `ranges` have been acquired."""
    acquired: list[tuple[int, int]] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while sum(last - first + 1 for first, last in acquired) < sum(last - first + 1 for first, last in ranges):
        assert time.monotonic() < deadline, f"acquired {acquired} of {ranges}"
        for partition in member.fetch(max_wait_ms=500):
            acquired += [(run.first_offset, run.last_offset) for run in partition.acquired_records]
    offsets = [offset for first, last in acquired for offset in range(first, last + 1)]
    assert sorted(offsets) == [offset for first, last in ranges for offset in range(first, last + 1)], (
        acquired
    )


def _acknowledge(member: RawShareMember, first_offset: int, last_offset: int, how: AcknowledgeType) -> None:
    assert member.acknowledge(first_offset, last_offset, how) == 0


class _StateLog:
    """The one partition of the broker's own state topic, read as it grows."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "none"})
        self._is_assigned = False
        self._unread: list[WrittenRecord] = []

    def wait_for_more(self) -> None:
        """Wait until there is a record that `new_records` has not given."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._poll(0.2):
            assert time.monotonic() < deadline, "the share coordinator wrote nothing"

    def new_records(self) -> list[WrittenRecord]:
        """The records since the last call. A response comes after its record, so that all of them are there."""
        while self._poll(0.3):
            pass
        records, self._unread = self._unread, []
        return records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def _poll(self, seconds: float) -> bool:
        if not self._is_assigned:
            if STATE_TOPIC not in self._consumer.list_topics(timeout=PATIENCE_SECONDS).topics:
                time.sleep(seconds)
                return False
            self._consumer.assign([TopicPartition(STATE_TOPIC, 0, OFFSET_BEGINNING)])
            self._is_assigned = True
        message = self._consumer.poll(seconds)
        if message is None or message.error() is not None:
            return False
        self._unread.append(
            WrittenRecord(
                message.offset(), message.timestamp()[1], _digits(message.key()), _digits(message.value())
            )
        )
        return True


def _digits(content: bytes | None) -> str | None:
    return None if content is None else content.hex()


def golden_file(steps: Sequence[PlayedStep]) -> str:
    """The text of the golden file."""
    content: dict[str, Any] = {
        "about": "What Apache Kafka's own share coordinator wrote at each step of KIP-932's worked example.",
        "made_by": "python -m tests.real_kafka.worked_example",
        "kafka_version": REFERENCE.version,
        "group_id": GROUP,
        "steps": [asdict(step) for step in steps],
    }
    return json.dumps(content, indent=2) + "\n"


def main() -> None:
    """Write the golden file."""
    with KafkaCluster(share_groups=True, broker_settings=CLUSTER_SETTINGS) as cluster:
        GOLDEN_FILE.write_text(golden_file(play(cluster)), encoding="utf-8")


if __name__ == "__main__":
    main()
