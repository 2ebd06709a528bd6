"""Whatever members, locks, connections and the state log do: no record is lost, none comes back once it is accepted.

Two groups of three members consume two partitions while a test of Hypothesis's making produces, fetches, accepts,
releases, lets locks end, breaks connections, discards share-partitions and lets writes fail. Then everything is put in
order and drained. An acknowledgement counts when it was answered without an error. A late one counts, too: below the
start offset it succeeds, because somebody else settled the record.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.limits import ShareLimits
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
)

PARTITIONS = (0, 1)
ACCEPT, RELEASE = 1, 2
UNLIMITED = ShareGroupLimits(share=ShareLimits(delivery_count_limit=10_000, partition_max_record_locks=100))

step = st.one_of(
    st.tuples(st.just("produce"), st.sampled_from(PARTITIONS), st.integers(1, 7)),
    st.tuples(st.just("fetch"), st.integers(0, 5), st.integers(1, 12)),
    st.tuples(st.just("settle"), st.integers(0, 5), st.sampled_from([ACCEPT, RELEASE])),
    st.tuples(st.just("ride"), st.integers(0, 5), st.sampled_from([ACCEPT, RELEASE])),
    st.tuples(st.just("close"), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("disconnect"), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("pass time"), st.integers(1, 40), st.just(0)),
    st.tuples(st.just("discard"), st.sampled_from(PARTITIONS), st.just(0)),
    st.tuples(st.just("break log"), st.integers(0, 1), st.just(0)),
)


@dataclass
class Consumers:
    """Six members, what each holds, and what was accepted so far."""

    world: ShareGroupWorld = field(default_factory=lambda: ShareGroupWorld(limits=UNLIMITED))
    produced: Counter[int] = field(default_factory=Counter)
    accepted: dict[str, set[tuple[int, int]]] = field(default_factory=lambda: {"g": set(), "h": set()})
    held: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)

    async def begin(self) -> None:
        self.world.metadata.create_topic("orders", ORDERS, partition_count=len(PARTITIONS))
        for group_id in ("g", "h"):
            for partition in PARTITIONS:
                await self.world.initialize(group_id, partition=partition)
        self.members = [
            self.world.member(f"member-{number}", group_id="g" if number < 3 else "h") for number in range(6)
        ]

    async def take(self, action: str, first: int, second: int) -> None:
        """Take one step; its two numbers mean what the strategy above says."""
        await {
            "produce": self.produce,
            "fetch": self.fetch,
            "settle": self.settle,
            "ride": self.ride,
            "close": self.close,
            "disconnect": self.disconnect,
            "pass time": self.pass_time,
            "discard": self.discard,
            "break log": self.break_log,
        }[action](first, second)

    async def produce(self, partition: int, record_count: int) -> None:
        self.world.produce(record_count, partition=partition)
        self.produced[partition] += record_count

    async def disconnect(self, number: int, _: int) -> None:
        await self.members[number].disconnect()
        self.members[number].session_epoch = 0

    async def pass_time(self, seconds: int, _: int) -> None:
        self.world.clock.advance(seconds * 1_000)
        await self.world.expire()

    async def discard(self, partition: int, _: int) -> None:
        self.world.groups.directory.discard(self.world.key("g", partition=partition))

    async def break_log(self, is_broken: int, _: int) -> None:
        self.world.state_log.persist_failure = StateLogUnavailable("broken") if is_broken else None

    async def fetch(self, number: int, max_records: int) -> int:
        member = self.members[number]
        add = [(ORDERS, partition) for partition in PARTITIONS] if member.session_epoch == 0 else []
        answer = await member.fetch(add=add, max_wait_ms=0, max_records=max_records)
        assert answer.error_code == ErrorCode.NONE
        runs = [
            (partition, first_offset, last_offset)
            for partition in PARTITIONS
            for first_offset, last_offset, _ in acquired(answer, partition=partition)
        ]
        for run in runs:
            assert self.accepted[member.group_id].isdisjoint(_offsets(run)), "delivered after it was accepted"
        self.held.setdefault(number, []).extend(runs)
        return len(runs)

    async def settle(self, number: int, acknowledge_type: int) -> None:
        for partition, first_offset, last_offset in self.held.pop(number, []):
            batch = (first_offset, last_offset, [acknowledge_type])
            answer = await self.members[number].acknowledge({(ORDERS, partition): [batch]})
            code = acknowledge_errors(answer).get((ORDERS, partition), answer.error_code)
            self.note(number, acknowledge_type, (partition, first_offset, last_offset), code)

    async def ride(self, number: int, acknowledge_type: int) -> None:
        """Acknowledge one run on a fetch that asks for nothing."""
        if not self.held.get(number) or self.members[number].session_epoch == 0:
            return
        partition, first_offset, last_offset = run = self.held[number].pop()
        batch = (first_offset, last_offset, [acknowledge_type])
        answer = await self.members[number].fetch(acks={(ORDERS, partition): [batch]}, max_records=0)
        code = partitions_of(answer)[ORDERS, partition].acknowledge_error_code
        self.note(number, acknowledge_type, run, code)

    async def close(self, number: int, _: int) -> None:
        await self.members[number].acknowledge(epoch=-1)
        self.members[number].session_epoch = 0

    def note(self, number: int, acknowledge_type: int, run: tuple[int, int, int], code: int) -> None:
        if code == ErrorCode.NONE and acknowledge_type == ACCEPT:
            self.accepted[self.members[number].group_id].update(_offsets(run))

    async def drain(self) -> None:
        """Mend everything, and let one member of each group accept all that is left."""
        self.world.state_log.persist_failure = None
        for member in self.members:
            await member.disconnect()
            member.session_epoch = 0
        self.world.clock.advance(60_000)
        await self.world.expire()
        self.held.clear()
        for number in (0, 3):
            while await self.fetch(number, 50):
                await self.settle(number, ACCEPT)


def _offsets(run: tuple[int, int, int]) -> list[tuple[int, int]]:
    partition, first_offset, last_offset = run
    return [(partition, offset) for offset in range(first_offset, last_offset + 1)]


@given(st.lists(step, max_size=40))
def test_every_record_is_accepted_by_every_group_and_then_never_delivered_again(
    steps: list[tuple[str, int, int]],
) -> None:
    async def scenario() -> Consumers:
        # Given
        consumers = Consumers()
        await consumers.begin()

        # When
        for action, first, second in steps:
            await consumers.take(action, first, second)
        await consumers.drain()
        return consumers

    consumers = asyncio.run(scenario())

    # Then
    expected = {
        (partition, offset) for partition, count in consumers.produced.items() for offset in range(count)
    }
    assert consumers.accepted == {"g": expected, "h": expected}
    assert consumers.world.faults == []
