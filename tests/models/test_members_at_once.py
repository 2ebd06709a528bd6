"""Members that fetch, acknowledge and leave at the same time, while slots, loads, writes and reads do what they like.

Whatever happens: what was accepted, and told so, is not delivered by a later fetch, no record is lost, nobody reads
without end, and nothing that one moment needs stays behind.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress, StateLogUnavailable
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.net.tasks import TaskKeeper
from kproxy.share.limits import ShareLimits
from tests.in_memory.ordered_state_log import OrderedStateLog
from tests.worlds.share_group_world import (
    ORDERS,
    Acks,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait

PARTITIONS = (0, 1, 2)
ACCEPT, RELEASE = 1, 2
MANY_READS = 80
"""More than this between two events is a loop without a pause: four members have nothing to do that often."""
LIMITS = ShareGroupLimits(share=ShareLimits(delivery_count_limit=10_000, partition_max_record_locks=100))
Run: TypeAlias = tuple[int, int, int]
"""Partition, first and last offset."""


@dataclass(eq=False)
class Consumer:
    """One client. What it holds was acquired over its connection of this moment."""

    member: Member
    held: list[Run] = field(default_factory=list)


class Scene:
    """Four consumers that never rest until `is_over`, and what may happen to them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = ShareGroupWorld(limits=LIMITS, passes_time=False)
        self.log = OrderedStateLog()
        self.world.state_log = self.log
        self.world.groups = self.world.new_process()
        self.world.reader.before_read = self._before_read
        self.consumers = [Consumer(self.world.member(f"member-{number}")) for number in range(4)]
        self.is_over = False
        self.read_count = 0
        self.produced: Counter[int] = Counter()
        self.accepted: set[tuple[int, int]] = set()
        self.maybe_accepted: set[tuple[int, int]] = set()
        self.tasks = TaskKeeper()
        self.work: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        self.world.metadata.create_topic("orders", ORDERS, partition_count=len(PARTITIONS))
        for partition in PARTITIONS:
            await self.world.initialize(partition=partition)
        for consumer in self.consumers:
            self._spawn(self._consume(consumer))

    def _spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        self.work.append(self.tasks.spawn(coroutine, name="a part of the scene"))
        return self.work[-1]

    async def _before_read(self) -> None:
        self.read_count += 1
        assert self.read_count < MANY_READS, "reads without end"
        await until_all_wait(self.random.randint(0, 6))

    # ---- a consumer

    async def _consume(self, consumer: Consumer) -> None:
        while not self.is_over:
            await self._fetch(consumer)
            while consumer.held and self.random.random() < 0.5:
                await self._settle(consumer, consumer.held.pop())
            if self.random.random() < 0.05:
                await consumer.member.acknowledge(epoch=-1)
                consumer.member.session_epoch, consumer.held = 0, []

    async def _fetch(self, consumer: Consumer) -> None:
        member, held, random = consumer.member, consumer.held, self.random
        is_open = member.session_epoch > 0
        ridden = [held.pop()] if is_open and held and random.random() < 0.4 else []
        acks: Acks = {(ORDERS, partition): [(first, last, [ACCEPT])] for partition, first, last in ridden}
        connection_id, accepted_before = member.connection_id, set(self.accepted)
        answer = await member.fetch(
            add=() if is_open else [(ORDERS, partition) for partition in PARTITIONS],
            acks=acks,
            max_wait_ms=random.choice([0, 100, 500]),
            max_records=random.choice([1, 5, 20]),
            min_bytes=random.choice([1, 1, 1, 5_000]),
        )
        found = partitions_of(answer)
        for run in ridden:
            if found:
                self._note(run, found[ORDERS, run[0]].acknowledge_error_code)
            else:
                # The session ended meanwhile: nobody reads this answer, and nobody knows.
                self.maybe_accepted.update(_offsets(run))
        if member.connection_id != connection_id:
            return
        if answer.error_code != ErrorCode.NONE:
            member.session_epoch = 0
            await asyncio.sleep(0)
        for partition in PARTITIONS:
            runs = [(partition, first, last) for first, last, _ in acquired(answer, partition=partition)]
            for run in runs:
                assert accepted_before.isdisjoint(_offsets(run)), f"{run} was accepted before it was fetched"
            held.extend(runs)

    async def _settle(self, consumer: Consumer, run: Run) -> None:
        kind, member = self.random.choice([ACCEPT, ACCEPT, RELEASE]), consumer.member
        answer = await member.acknowledge({(ORDERS, run[0]): [(run[1], run[2], [kind])]})
        if kind == ACCEPT:
            self._note(run, acknowledge_errors(answer).get((ORDERS, run[0]), answer.error_code))
        if answer.error_code != ErrorCode.NONE:
            member.session_epoch = 0

    def _note(self, run: Run, error_code: int) -> None:
        if error_code == ErrorCode.NONE:
            self.accepted.update(_offsets(run))

    # ---- what may happen

    def produce(self) -> None:
        partition, count = self.random.choice(PARTITIONS), self.random.randint(1, 7)
        self.world.produce(count, partition=partition)
        self.produced[partition] += count

    def lose_a_connection(self) -> None:
        consumer = self.random.choice(self.consumers)
        self._spawn(self.world.groups.apis.connection_closed(consumer.member.connection_id))
        consumer.member.connection_id = self.world.new_connection()
        consumer.member.session_epoch, consumer.held = 0, []

    def let_locks_end(self) -> None:
        self.world.clock.advance(31_000)
        self._spawn(self.world.expire())

    def pass_time(self) -> None:
        self.world.clock.advance(self.random.choice([10, 100, 500]))

    def discard(self) -> None:
        self.world.groups.directory.discard(self.world.key(partition=self.random.choice(PARTITIONS)))

    def hold_writes(self) -> None:
        self.log.hold()

    def let_writes_go_on(self) -> None:
        self.log.go_on()

    def refuse_writes(self) -> None:
        self.log.refuse(StateLogUnavailable("refused"))

    def lose_or_load_the_slot(self) -> None:
        was_ready = self.world.group_log.unreadiness is None
        self.world.group_log.unreadiness = CoordinatorLoadInProgress("replaying") if was_ready else None
        self.world.groups.discard_live([self.world.key().group_id])

    # ---- the end

    async def end(self) -> None:
        """Mend everything, and let everybody come to an end."""
        self.is_over = True
        self.log.go_on()
        if self.world.group_log.unreadiness is not None:
            self.lose_or_load_the_slot()
        for _ in range(5):
            self.read_count = 0
            self.world.clock.advance(1_000)
            await until_all_wait(60)
        assert all(task.done() for task in self.work), "somebody hangs"
        await asyncio.gather(*self.work)
        for consumer in self.consumers:
            await consumer.member.disconnect()

    async def drain(self) -> None:
        """Let one consumer accept all that is left."""
        consumer = self.consumers[0]
        consumer.member.session_epoch, consumer.held = 0, []
        for idle_count in range(1_000):
            self.read_count = 0
            fetch = self._spawn(self._fetch(consumer))
            await until_all_wait(60)
            self.world.clock.advance(500)
            await fetch
            while consumer.held:
                run = consumer.held.pop()
                answer = await consumer.member.acknowledge({(ORDERS, run[0]): [(run[1], run[2], [ACCEPT])]})
                self._note(run, acknowledge_errors(answer)[ORDERS, run[0]])
            if self.is_complete and idle_count >= len(PARTITIONS):
                return

    @property
    def is_complete(self) -> bool:
        return self.everything <= self.accepted | self.maybe_accepted

    @property
    def everything(self) -> set[tuple[int, int]]:
        return {(partition, offset) for partition in PARTITIONS for offset in range(self.produced[partition])}


def _offsets(run: Run) -> list[tuple[int, int]]:
    partition, first, last = run
    return [(partition, offset) for offset in range(first, last + 1)]


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.lists(
        st.sampled_from(
            [
                *[Scene.produce] * 4,
                *[Scene.pass_time] * 3,
                Scene.lose_a_connection,
                Scene.let_locks_end,
                Scene.discard,
                Scene.hold_writes,
                Scene.let_writes_go_on,
                Scene.refuse_writes,
                Scene.lose_or_load_the_slot,
            ]
        ),
        min_size=20,
        max_size=100,
    ),
)
def test_whoever_works_at_the_same_time_nothing_is_lost_undone_or_left_behind(
    seed: int, events: list[Callable[[Scene], None]]
) -> None:
    async def scenario() -> Scene:
        # Given
        scene = Scene(seed)
        await scene.begin()

        # When
        for event in events:
            scene.read_count = 0
            event(scene)
            await until_all_wait(scene.random.randint(1, 30))
        await scene.end()
        return scene

    async def drained() -> tuple[Scene, int, int]:
        scene = await scenario()
        left_behind = scene.world.groups.share_partition_count, len(scene.world.groups._services.parked)
        await scene.drain()
        return scene, *left_behind

    scene, live_count, parked_count = asyncio.run(drained())

    # Then
    assert scene.is_complete
    assert (live_count, parked_count) == (0, 0)
    assert scene.world.faults == []
