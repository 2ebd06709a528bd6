"""The same records, acknowledged in different ways by one member: what each way leaves in the state log, and costs."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from confluent_kafka import Producer

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.record_streams import TIMEOUT_SECONDS, RecordsLost
from tests.benchmarks.share_consumption import new_group
from tests.benchmarks.sizing_costs import CountingProcess, cost_of
from tests.benchmarks.workload import Arm
from tests.real_kafka.raw_share_member import RawShareMember

ACCEPT: Final = 1
RELEASE: Final = 2
RECORDS_A_FETCH: Final = 500
"""What clients ask for by default; batches of producers have as many here."""
RECORD_BYTES: Final = 100


@dataclass(frozen=True, slots=True)
class Way:
    """How a member acknowledges what it has fetched."""

    name: str
    at_once: int
    """Records in one ShareAcknowledge."""
    is_in_order: bool = True
    releases_first: bool = False
    """Whether records are released at their first delivery and accepted at the second."""


class Delivered(Protocol):
    """A run of records that were delivered, as a ShareFetch tells it."""

    first_offset: int
    last_offset: int
    delivery_count: int


class AcknowledgeRecords:
    """All `count` records of a topic with one partition, fetched 500 at a time and acknowledged in one way."""

    def __init__(
        self, way: Way, *, topic: str, count: int, address: str, kproxy: CountingProcess, broker: int
    ) -> None:
        """`address` is kproxy's port of the broker, `broker` the id of the broker's process."""
        self.name = way.name
        self._way = way
        self._topic = topic
        self._count = count
        self._address = address
        self._kproxy = kproxy
        self._broker = broker

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        group = new_group(arm)
        with RawShareMember(self._address, group=group, topic=self._topic) as member:
            member.join_until_assigned(partitions=1)
            with cost_of(self._kproxy, self._broker) as cost:
                accepted = self._accept_all(member)
            member.leave_group()
        return cost.of_records(accepted)

    def _accept_all(self, member: RawShareMember) -> int:
        accepted = 0
        chance = random.Random(self._count)
        while accepted < self._count:
            member.send_fetch(max_wait_ms=500, max_records=RECORDS_A_FETCH)
            delivered = [run for each in member.receive_fetched() for run in each.acquired_records]
            if not delivered:
                raise RecordsLost(f"{accepted} of {self._count} records came")
            for first, last, how in acknowledgements(delivered, self._way, chance):
                error_code = member.acknowledge(first, last, how)
                if error_code:
                    raise RecordsLost(f"offsets {first} to {last} were refused with error {error_code}")
                accepted += (last - first + 1) * (how == ACCEPT)
        return accepted


def acknowledgements(
    delivered: Sequence[Delivered], way: Way, chance: random.Random
) -> Sequence[tuple[int, int, int]]:
    """First and last offset and type of each ShareAcknowledge about runs that were delivered together."""
    blocks = [block for run in _whole_runs(delivered) for block in _blocks(*run, way)]
    if not way.is_in_order:
        chance.shuffle(blocks)
    return blocks


def fill_with_batches_of_500(address: str, topic: str, count: int) -> None:
    """Produce `count` records to partition 0. Raises `RecordsLost`."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "acks": "all",
            "linger.ms": 1_000,
            "batch.num.messages": RECORDS_A_FETCH,
            "queue.buffering.max.messages": count + 1,
        }
    )
    for _ in range(count):
        producer.produce(topic, bytes(RECORD_BYTES), partition=0)
    left = producer.flush(TIMEOUT_SECONDS)
    if left:
        raise RecordsLost(f"{left} of {count} records are not there after {TIMEOUT_SECONDS:.0f} s")


def _whole_runs(delivered: Sequence[Delivered]) -> Iterator[tuple[int, int, int]]:
    """First and last offset and delivery count of runs; neighbours delivered equally often are one."""
    first, last, count = -1, -1, 0
    for run in delivered:
        if run.first_offset == last + 1 and run.delivery_count == count:
            last = run.last_offset
            continue
        if count:
            yield first, last, count
        first, last, count = run.first_offset, run.last_offset, run.delivery_count
    if count:
        yield first, last, count


def _blocks(first: int, last: int, delivery_count: int, way: Way) -> Iterator[tuple[int, int, int]]:
    how = RELEASE if way.releases_first and delivery_count == 1 else ACCEPT
    for begin in range(first, last + 1, way.at_once):
        yield begin, min(begin + way.at_once - 1, last), how
