"""Clients of which nothing is accounted for: garbage may be anywhere in what they say and hear."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import ProduceResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.faults.script import STRANGER
from tests.in_memory.record_batch_bytes import record_batch
from tests.real_kafka.administration import unique_name
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.raw_share_member import RawShareMember

ACCEPT: Final = 1
PRODUCE_VERSION: Final = 9
STRANGERS_OF_PLACE: Final = 2
ROUNDS: Final = 40
"""Of one life, if nothing befalls it."""
TIMEOUT_SECONDS: Final = 2.0
PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stranger works: at the broker that leads a partition and coordinates a group."""

    address: str
    partition: int
    group: str


class Strangers:
    """Two for each place, from `__enter__` to `__exit__`: joins, produces, fetches, accepts, and begins anew."""

    def __init__(self, places: Sequence[Place], *, topic: str) -> None:
        self.ends: Counter[str] = Counter()
        """How their lives ended, by the name of the error; `in order` without one."""
        self._topic = topic
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=[place], name=f"stranger of {place.group}")
            for place in places
            for _ in range(STRANGERS_OF_PLACE)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _live(self, place: Place) -> None:
        while not self._is_over.wait(PAUSE_SECONDS):
            try:
                self._visit(place)
                self.ends["in order"] += 1
            except Exception as error:  # noqa: BLE001 - whatever garbage makes of a raw client is its own matter
                self.ends[type(error).__name__] += 1

    def _visit(self, place: Place) -> None:
        name = unique_name(STRANGER)
        with RawConnection(place.address, client_id=name, timeout_seconds=TIMEOUT_SECONDS) as connection:
            member = RawShareMember(
                place.address,
                group=place.group,
                topic=self._topic,
                member_id=name,
                connect=lambda _: connection,
            )
            heartbeat = ShareGroupHeartbeatRequest(
                group_id=place.group, member_id=name, subscribed_topic_names=[self._topic]
            )
            for _ in range(ROUNDS):
                if self._is_over.is_set():
                    return
                if (told := member.heartbeat(heartbeat)).member_epoch:
                    heartbeat = ShareGroupHeartbeatRequest(
                        group_id=place.group, member_id=name, member_epoch=told.member_epoch
                    )
                self._produce(connection, place.partition)
                for fetched in member.fetch([place.partition], max_wait_ms=200):
                    for acquired in fetched.acquired_records:
                        first, last = acquired.first_offset, acquired.last_offset
                        member.acknowledge(first, last, ACCEPT, partition=place.partition)

    def _produce(self, connection: RawConnection, partition: int) -> None:
        values = [b"of a stranger"] * 3
        batch = record_batch(0, values, timestamp_ms=time.time_ns() // 1_000_000)
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name=self._topic, partition_data=[data])]
        )
        connection.ask(ApiKey.PRODUCE, PRODUCE_VERSION, request, ProduceResponse)
